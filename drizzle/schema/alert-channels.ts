import { sql } from 'drizzle-orm';
import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** Ways to tell people of an incident that were added on the dashboard, beside those of ALERT_CHANNELS. */
export const alertChannels = pgTable(
  'alert_channels',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    /** AES-256-GCM, bound to the id. */
    sealedAddress: text('sealed_address').notNull(),
    /** What is shown of the address. */
    place: text('place').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  () => [uniqueIndex('alert_channels_by_name').on(sql`lower(name)`)],
);
