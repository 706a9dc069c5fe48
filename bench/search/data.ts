import type { Client } from 'pg';

/** Words of the measured queries, by how many logs contain them. */
export const measuredWords = {
  'a rare word (1 in 100,000)': 'EHOSTUNREACH',
  'a name': 'owner-17/repository-777',
  'a name that occurs nowhere, of common words': 'owner-7/repository-777',
  'a word in 20 % of all rows': 'timeout',
  'a word in every row': 'backup',
  'a word in 20 % of the older half, in none since': 'handshake',
  'two words in 20 % each, seldom together': 'timeout retrying',
  'a word that occurs nowhere': 'zeppelin',
  'a beginning of a word in 20 %': 'timeo',
  'a phrase of common words': '"backup of repository"',
} as const;

/** SQL for the `n`-th of `logs` log lines: typical worker messages, with words of known frequency. */
export const messageOf = (logs: number) => `
  'step ' || n % 2500 || ' of the backup of repository-' || n % 1000
    || CASE n % 5 WHEN 0 THEN ' ended with a timeout' WHEN 1 THEN ' is retrying' ELSE '' END
    || CASE WHEN n % 5 = 2 AND n < ${logs} / 2 THEN ' after the handshake' ELSE '' END
    || CASE WHEN n % 100000 = 17 THEN ' fatal: EHOSTUNREACH' ELSE '' END`;

/**
 * Fills a migrated database with logs. The full-text index is created afterwards, which is several times faster than
 * row by row; `writes.ts` measures what it costs a writer.
 */
export async function generateLogs(client: Client, logs: number): Promise<void> {
  const { rows } = await client.query<{ indexdef: string }>(
    `SELECT indexdef FROM pg_indexes WHERE indexname = 'execution_logs_document'`,
  );
  const [index] = rows;
  if (!index) throw new Error('the database has no full-text index');
  const steps: [string, string][] = [
    ['no index', 'DROP INDEX execution_logs_document'],
    [
      `${logs} logs`,
      `INSERT INTO execution_logs (level, message, repository, created_at)
       SELECT CASE WHEN n % 5 = 0 THEN 'error' ELSE 'info' END, ${messageOf(logs)},
              'owner-' || n % 20 || '/repository-' || n % 1000,
              now() - make_interval(secs => ${logs} - n)
       FROM generate_series(1, ${logs}) AS n`,
    ],
    ['memory', `SET maintenance_work_mem = '512MB'`],
    ['the index', index.indexdef],
    ['statistics', 'VACUUM (ANALYZE)'],
  ];
  for (const [what, sql] of steps) {
    const start = performance.now();
    await client.query(sql);
    process.stderr.write(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  }
}
