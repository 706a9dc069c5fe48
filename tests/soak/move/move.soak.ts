import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../support/connection.ts';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { sql } from '../../support/records.ts';
import { runScript } from '../../support/script.ts';
import { findWrongFigures } from '../../support/summaries.ts';
import { times } from '../size.ts';

const SMALL_ROWS = times(10_000, 2_000_000);
/** Rows of 150 kB. */
const LARGE_ROWS = times(1_000, 10_000);
/** Half of it is the process itself; the data being moved would not fit. */
const PEAK_MIB = 320;

let source: TestDatabase;
let target: TestDatabase;

beforeAll(async () => {
  [source, target] = await Promise.all([createPostgres(), createPostgres({ migrated: false })]);
  // The source is only read, and is filled faster without its full-text index.
  await sql(source.db, 'DROP INDEX execution_logs_document');
  await sql(source.db, 'INSERT INTO backup_runs SELECT FROM generate_series(1, 50)');
  const client = await connect(source.url);
  await client.query(
    `INSERT INTO execution_logs (run_id, level, repository, message, created_at)
     SELECT nullif(n % 51, 0), (ARRAY['info', 'INFO', 'warn', 'Error'])[1 + n % 4], 'o/r' || n % 7,
       'cloning repository number ' || n, '2026-05-01'::timestamptz + n * interval '1 second'
     FROM generate_series(1, ${SMALL_ROWS}) AS n`,
  );
  await client.query(
    `INSERT INTO execution_logs (message) SELECT repeat('x', 150000) FROM generate_series(1, ${LARGE_ROWS})`,
  );
  await client.end();
});
afterAll(() => Promise.all([source.close(), target.close()]));

it(`a move of ${SMALL_ROWS + LARGE_ROWS} logs takes at most ${PEAK_MIB} MiB`, async () => {
  const { code, stdout, stderr } = await runScript('move', {
    cwd: tmpdir(),
    stdin: target.url,
    env: {
      DATABASE_URL: source.url,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'report-peak.ts')}`,
    },
  });
  expect(code, stderr).toBe(0);
  const rows = (SMALL_ROWS + LARGE_ROWS).toLocaleString('en');
  expect(stdout).toMatch(new RegExp(`^execution_logs +${rows}$`, 'm'));
  const peak = Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1024;
  process.stdout.write(`peak ${Math.round(peak)} MiB\n`);
  expect(peak).toBeLessThan(PEAK_MIB);

  const client = await connect(target.url);
  expect(await findWrongFigures(client)).toEqual([]);
  await client.end();
});
