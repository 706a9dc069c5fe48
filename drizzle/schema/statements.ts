import { sql } from 'drizzle-orm';
import { bigint, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** The keys that sign the results of restore drills: the current one, and those that it replaced. */
export const signingKeys = pgTable(
  'signing_keys',
  {
    /** The SHA-256 of the public key (DER), in hexadecimal. */
    id: text('id').primaryKey(),
    /** In PEM. */
    publicKey: text('public_key').notNull(),
    /** AES-256-GCM, bound to the id. Null once the key was replaced. */
    sealedPrivateKey: text('sealed_private_key'),
    /** The last row of the ledger of drills when the key was made; 0 if there was none. */
    afterDrill: bigint('after_drill', { mode: 'bigint' }).notNull(),
    createdBy: text('created_by').notNull().default(''),
    createdAt: time('created_at').notNull().defaultNow(),
    retiredAt: time('retired_at'),
  },
  () => [
    // All servers of a database use one key.
    uniqueIndex('signing_keys_current')
      .on(sql`(retired_at IS NULL)`)
      .where(sql`retired_at IS NULL`),
  ],
);

/**
 * The signed statement about each row of the ledger of drills. Triggers reject every change except new rows
 * (functions/restore-drills.sql).
 */
export const drillStatements = pgTable('drill_statements', {
  /** Not a reference: a statement reveals that its row was removed. */
  drillId: bigint('drill_id', { mode: 'bigint' }).primaryKey(),
  keyId: text('key_id').notNull(),
  /** An in-toto Statement, exactly as it was signed. */
  statement: text('statement').notNull(),
  /** Ed25519, in base64: of the DSSE envelope, and of the statement alone. */
  envelopeSignature: text('envelope_signature').notNull(),
  statementSignature: text('statement_signature').notNull(),
  signedAt: time('signed_at').notNull().defaultNow(),
});
