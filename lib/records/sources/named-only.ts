import { dirname } from 'node:path';
import type { Database, Statement } from '../../database/database.ts';
import { canonicalAddress } from '../../text/source-address.ts';
import { newestResults } from '../base/newest-results.ts';
import { LOGIN_KEY, type TrackedSource } from './sources.ts';

const select: Statement = {
  name: 'repositories_of_source',
  text: `WITH ${newestResults}
    SELECT repo_full_name AS name, address,
      (EXISTS (SELECT FROM coverage WHERE lower(coverage.name) = lower(repo_full_name) AND plan = 'taken'))::int AS listed
    FROM newest JOIN repository_sources AS source USING (repo_full_name)
    WHERE named_by = $1 OR address = $2 ORDER BY repo_full_name`,
};

/** The tracked repositories that a source names, and no other one of `all`. */
export async function listNamedOnlyBy(
  db: Database,
  { id, key, address }: TrackedSource,
  all: readonly TrackedSource[],
): Promise<string[]> {
  type Row = { name: string; address: string; listed: number };
  const rows = await db.query<Row>(select, [key, address]);
  const others = all.filter((other) => other.id !== id);
  const keys = new Set(others.map((other) => other.key));
  return rows
    .filter(({ listed, ...row }) => {
      if (listed === 1 && keys.has(LOGIN_KEY)) return false;
      const isLocal = !/^[a-z][a-z0-9+.-]*:\/\/|^[^\\/]+@/i.test(row.address);
      return (
        !keys.has(canonicalAddress(row.address)) && !(isLocal && keys.has(dirname(row.address)))
      );
    })
    .map(({ name }) => name);
}
