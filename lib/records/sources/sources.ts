import { createHash } from 'node:crypto';
import type { ConfiguredSource } from '../../config/sources.ts';
import type { Database, Statement } from '../../database/database.ts';
import { iso } from '../base/page.ts';

/** The source of what the login discovers: its id, and its key. */
export const LOGIN_ID = 0;
export const LOGIN_KEY = 'login';

/** How many sources can be added. */
export const MAX_SOURCES = 500;
/** How many patterns a source can have. */
export const MAX_EXCLUDED = 100;

/** What is backed up. Times are ISO 8601 in UTC. */
export interface TrackedSource {
  id: number;
  kind: 'login' | 'folder' | 'address';
  /** An absolute path or a URL without credentials; empty for the login. */
  address: string;
  /** The same text for all spellings of the address. */
  key: string;
  /** Patterns of the repositories in it that are left out. */
  exclude: string[];
  /** Null while it is backed up. */
  pausedAt: string | null;
  pausedBy: string | null;
  /** The variable that sets it, so that it can be changed only there; null if it was added. */
  setBy: 'BACKUP_SOURCES' | null;
  /** Null if it was not added by anybody. */
  createdAt: string | null;
  createdBy: string | null;
}

const select: Statement = {
  name: 'list_sources',
  text: `SELECT id, kind, address, key, to_json(exclude)::text AS exclude, ${iso('paused_at')} AS "pausedAt",
      paused_by AS "pausedBy", ${iso('created_at')} AS "createdAt", created_by AS "createdBy"
    FROM sources ORDER BY id LIMIT ${MAX_SOURCES + 1}`,
};

type Row = Omit<TrackedSource, 'exclude' | 'setBy'> & { exclude: string };

/**
 * All sources: what the login discovers, those of BACKUP_SOURCES, and those that were added. One that is both
 * configured and added is as configured, with the id of the added one.
 */
export async function listSources(
  db: Database,
  configured: readonly ConfiguredSource[],
): Promise<TrackedSource[]> {
  const rows = await db.query<Row>(select, []);
  return mergeSources(
    rows.map(({ exclude, ...row }) => ({ ...row, exclude: JSON.parse(exclude), setBy: null })),
    configured,
  );
}

const count: Statement = {
  name: 'count_sources',
  text: `SELECT count(*)::int AS number FROM sources WHERE id <> ${LOGIN_ID}`,
};

/** How many sources were added. */
export async function countSources(db: Database): Promise<number> {
  const [row] = await db.query<{ number: number }>(count, []);
  return row?.number ?? 0;
}

/** Adds the login and the sources of BACKUP_SOURCES to those that were added. */
export function mergeSources(
  added: readonly TrackedSource[],
  configured: readonly ConfiguredSource[],
): TrackedSource[] {
  const keys = new Set([LOGIN_KEY, ...configured.map(({ key }) => key)]);
  const login = added.find(({ key }) => key === LOGIN_KEY) ?? { ...unchanged, ...loginSource };
  return [
    { ...login, createdAt: null, createdBy: null },
    ...configured.map((source): TrackedSource => {
      const id = added.find(({ key }) => key === source.key)?.id ?? idOf(source.key);
      return { ...unchanged, ...source, id, setBy: 'BACKUP_SOURCES' };
    }),
    ...added.filter(({ key }) => !keys.has(key)),
  ];
}

const unchanged = {
  ...{ exclude: [], pausedAt: null, pausedBy: null, setBy: null },
  ...{ createdAt: null, createdBy: null },
};
const loginSource = { id: LOGIN_ID, kind: 'login' as const, address: '', key: LOGIN_KEY };

/** A source of BACKUP_SOURCES has a negative id that depends only on its address. */
function idOf(key: string): number {
  const hash = createHash('sha256').update(key).digest().readUInt32BE();
  return -(hash % 2 ** 31 || 1);
}

// Of concurrent callers, all find the row that one of them inserted.
const insert: Statement = {
  name: 'add_source',
  text: `WITH added AS (
      INSERT INTO sources (kind, address, key, exclude, created_by)
      SELECT $1, $2, $3, $4::text[], $5
      WHERE (SELECT count(*) FROM sources WHERE id <> ${LOGIN_ID}) < ${MAX_SOURCES}
      ON CONFLICT (key) DO NOTHING RETURNING id
    )
    SELECT (SELECT id FROM added) AS id, EXISTS (SELECT FROM sources WHERE key = $3)::int AS taken`,
};

/** Adds a source and returns its id, or why not: it is there already, or there are MAX_SOURCES. */
export async function addSource(
  db: Database,
  { kind, address, key }: ConfiguredSource,
  { exclude, by }: { exclude: readonly string[]; by: string },
): Promise<number | 'taken' | 'full'> {
  type Added = { id: number | null; taken: number };
  const [row] = await db.query<Added>(insert, [kind, address, key, exclude, by]);
  return row?.id ?? (row?.taken === 1 ? 'taken' : 'full');
}

/** What can be changed about a source. What is undefined stays. */
export interface SourceChange {
  paused?: boolean | undefined;
  exclude?: readonly string[] | undefined;
}

// The login has no row until it is changed.
const change: Statement = {
  name: 'change_source',
  text: `INSERT INTO sources AS source (id, kind, key, exclude, paused_at, paused_by)
    SELECT known.id, known.kind, known.key, coalesce($2::text[], '{}'),
      CASE WHEN $3::boolean THEN now() END, CASE WHEN $3::boolean THEN $4 END
    FROM (
      SELECT ${LOGIN_ID} AS id, 'login' AS kind, '${LOGIN_KEY}' AS key WHERE $1::bigint = ${LOGIN_ID}
      UNION SELECT id, kind, key FROM sources WHERE id = $1::bigint
    ) AS known
    ON CONFLICT (id) DO UPDATE SET exclude = coalesce($2::text[], source.exclude),
      paused_at = CASE WHEN $3::boolean THEN coalesce(source.paused_at, now())
        WHEN $3::boolean IS NULL THEN source.paused_at END,
      paused_by = CASE WHEN $3::boolean AND source.paused_at IS NULL THEN $4
        WHEN $3::boolean IS NOT FALSE THEN source.paused_by END
    RETURNING id`,
};

/** Pauses or resumes a source, or replaces its patterns. False if there is no such source. */
export async function changeSource(
  db: Database,
  id: number,
  { paused, exclude }: SourceChange,
  by: string,
): Promise<boolean> {
  const values = [id, exclude ?? null, paused ?? null, by];
  return (await db.query(change, values)).length > 0;
}

const remove: Statement = {
  name: 'remove_source',
  text: `DELETE FROM sources WHERE id = $1::bigint AND id <> ${LOGIN_ID} RETURNING id`,
};

/** Removes a source that was added. False if there is no such source. */
export async function removeSource(db: Database, id: number): Promise<boolean> {
  return (await db.query(remove, [id])).length > 0;
}
