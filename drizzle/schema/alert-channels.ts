import { sql } from 'drizzle-orm';
import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** Alert channels added on the dashboard, in addition to those of ALERT_CHANNELS. */
export const alertChannels = pgTable(
  'alert_channels',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    /** AES-256-GCM, bound to the id. */
    sealedAddress: text('sealed_address').notNull(),
    /** The part of the address that may be shown. */
    place: text('place').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  () => [uniqueIndex('alert_channels_by_name').on(sql`lower(name)`)],
);
