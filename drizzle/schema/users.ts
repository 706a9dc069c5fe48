import { boolean, pgTable, text } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** Users of the observatory, in addition to AUTH_USERNAME from the environment. */
export const users = pgTable('users', {
  username: text('username').primaryKey(),
  passwordHash: text('password_hash').notNull(),
  /** Whether the user may change how backups are made, and what is told to whom. */
  isAdmin: boolean('is_admin').notNull().default(false),
  createdAt: time('created_at').notNull().defaultNow(),
});

/** Browser sessions ended by logging out before their token expires. */
export const endedSessions = pgTable('ended_sessions', {
  id: text('id').primaryKey(),
  expiresAt: time('expires_at').notNull(),
});

/** A user's own key of the model gateway, encrypted. */
export const gatewayConnections = pgTable('gateway_connections', {
  username: text('username').primaryKey(),
  /** AES-256-GCM, bound to the username. */
  encryptedKey: text('encrypted_key').notNull(),
  keyHint: text('key_hint').notNull(),
  connectedAt: time('connected_at').notNull().defaultNow(),
  lastUsedAt: time('last_used_at'),
  /** The gateway rejected the key with 401. Stays set until the user reconnects. */
  invalid: boolean('invalid').notNull().default(false),
});
