import type { Database, Statement } from '../../database/database.ts';
import { iso, type Page, type PageRequest, pageOffset, pageQuery, readPage } from '../base/page.ts';
import { type LedgerText, ledgerColumns } from './ledger.ts';

/** Whether a drill has a signed statement, and why it has none. */
export const statementStates = ['signed', 'pending', 'before_key', 'no_key', 'altered'] as const;
export type StatementState = (typeof statementStates)[number];

// Statements are made in the order of the ledger. The oldest key is the one with the smallest `after_drill`.
const keptSince = '(SELECT min(after_drill) FROM signing_keys)';
const lastSigned = '(SELECT coalesce(max(drill_id), 0) FROM drill_statements)';

/** SQL for the StatementState of a row `drill` of the ledger. */
export const statementState = `CASE
    WHEN EXISTS (SELECT FROM drill_statements AS made WHERE made.drill_id = drill.id) THEN 'signed'
    WHEN ${keptSince} IS NULL THEN 'no_key'
    WHEN drill.id <= ${keptSince} THEN 'before_key'
    WHEN drill.id > ${lastSigned} THEN 'pending'
    ELSE 'altered' END`;

/** A row of the ledger to sign. */
export interface UnsignedDrill extends LedgerText {
  /** The hash of the row before it; null if there is none. */
  before_sha256: string | null;
  /** The last row of the ledger. */
  head_id: string;
  head_sha256: string;
}

const unsigned: Statement = {
  name: 'unsigned_drills',
  text: `WITH head AS (SELECT id, sha256 FROM restore_drills ORDER BY restore_drills.id DESC LIMIT 1)
    SELECT ${ledgerColumns}, (SELECT before.sha256 FROM restore_drills AS before
        WHERE before.id < drill.id ORDER BY before.id DESC LIMIT 1) AS before_sha256,
      head.id::text AS head_id, head.sha256 AS head_sha256
    FROM restore_drills AS drill CROSS JOIN head
    WHERE drill.id > greatest($1::bigint, ${keptSince}, ${lastSigned})
    ORDER BY drill.id LIMIT $2::int`,
};

/** Up to `limit` rows of the ledger that have no statement yet, in order, after the row `after`. */
export function readUnsigned(db: Database, after: string, limit: number): Promise<UnsignedDrill[]> {
  return db.query<UnsignedDrill>(unsigned, [after, limit]);
}

/** A signed statement to store. */
export interface NewStatement {
  drill_id: string;
  statement: string;
  /** Both in base64. */
  envelope_signature: string;
  statement_signature: string;
}

// Not with a key that was replaced meanwhile.
const add: Statement = {
  name: 'add_drill_statements',
  text: `WITH signer AS (SELECT id FROM signing_keys WHERE id = $1 AND retired_at IS NULL), added AS (
      INSERT INTO drill_statements (drill_id, key_id, statement, envelope_signature, statement_signature)
      SELECT made.drill_id, signer.id, statement, envelope_signature, statement_signature
      FROM signer CROSS JOIN jsonb_to_recordset($2::jsonb) AS made (
        drill_id bigint, statement text, envelope_signature text, statement_signature text
      )
      ON CONFLICT (drill_id) DO NOTHING
    )
    SELECT 1 AS known FROM signer`,
};

/** Stores statements, except those that another process has made first. False if the key was replaced. */
export async function addStatements(
  db: Database,
  keyId: string,
  statements: readonly NewStatement[],
): Promise<boolean> {
  return (await db.query(add, [keyId, JSON.stringify(statements)])).length > 0;
}

/** A drill with its signed statement, if it has one. */
export interface FoundStatement {
  state: StatementState;
  key_id: string | null;
  statement: string | null;
  envelope_signature: string | null;
  statement_signature: string | null;
}

const find: Statement = {
  name: 'drill_statement',
  text: `SELECT ${statementState} AS state, made.key_id, made.statement, made.envelope_signature, made.statement_signature
    FROM restore_drills AS drill LEFT JOIN drill_statements AS made ON made.drill_id = drill.id
    WHERE drill.id = $1::bigint`,
};

/** The statement about a drill; null if there is no such drill. */
export async function findStatement(db: Database, drillId: number): Promise<FoundStatement | null> {
  const [row] = await db.query<FoundStatement>(find, [drillId]);
  return row ?? null;
}

const chosen = `FROM drill_statements AS made JOIN restore_drills AS drill ON drill.id = made.drill_id
  WHERE ($3::text IS NULL OR lower(drill.repository_name) = lower($3))`;
const list: Statement = {
  name: 'list_drill_statements',
  text: pageQuery(
    `SELECT made.drill_id, drill.repository_name AS repository, drill.version, drill.storage,
      ${iso('drill.started_at')} AS started_at, drill.outcome, drill.sha256, made.key_id, ${iso('made.signed_at')} AS signed_at
    ${chosen} ORDER BY made.drill_id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    `SELECT count(*) ${chosen}`,
  ),
};

/** The statements about all drills, or those of one repository by its name in any letter case, newest first. */
export function listStatements(
  db: Database,
  request: PageRequest,
  repository: string | null,
): Promise<Page> {
  return readPage(db, list, [request.limit, pageOffset(request), repository]);
}

/** A statement with the row of the ledger that it is about, and its key. */
export interface StatementText {
  drill_id: string;
  key_id: string;
  statement: string;
  envelope_signature: string;
  statement_signature: string;
  /** In PEM; null if there is no such key. */
  public_key: string | null;
  /** Null if there is no such row. */
  repository: string | null;
  sha256: string | null;
  previous_sha256: string | null;
}

const page: Statement = {
  name: 'drill_statements_page',
  text: `SELECT made.drill_id::text, made.key_id, made.statement, made.envelope_signature, made.statement_signature,
      key.public_key, drill.repository_name AS repository, drill.sha256, drill.previous_sha256
    FROM drill_statements AS made
    LEFT JOIN signing_keys AS key ON key.id = made.key_id
    LEFT JOIN restore_drills AS drill ON drill.id = made.drill_id
    WHERE made.drill_id > $1::bigint AND made.drill_id <= $2::bigint ORDER BY made.drill_id LIMIT $3::int`,
};

/** Up to `limit` statements about the rows after `after` up to `to`, in order. */
export function readStatements(
  db: Database,
  { after, to }: { after: string; to: string },
  limit: number,
): Promise<StatementText[]> {
  return db.query<StatementText>(page, [after, to, limit]);
}

const rows: Statement = {
  name: 'ledger_hashes',
  text: `SELECT id::text, sha256 FROM restore_drills AS drill WHERE drill.id = ANY ($1::bigint[])`,
};

/** The hashes of rows of the ledger by their ids. */
export async function readLedgerHashes(
  db: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = await db.query<{ id: string; sha256: string }>(rows, [ids]);
  return new Map(found.map(({ id, sha256 }) => [id, sha256]));
}
