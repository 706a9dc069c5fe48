import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const migration = new URL('../../drizzle/0031_facts.sql', import.meta.url);

/** Runs the migration twice: it may be repeated. */
async function migrate(): Promise<void> {
  const statements = (await readFile(migration, 'utf8')).split('--> statement-breakpoint');
  for (const statement of [...statements, ...statements]) await sql(database.db, statement);
}

it('runs of an earlier release say why they failed, and which of them a login refused', async () => {
  const { db } = database;
  const messages = [
    'The backup worker stopped without finishing this run.',
    'the archive folder /a has none of its 3 archives: is its disk mounted, and BACKUP_ARCHIVE_PATH right? Nothing was backed up.',
    'log in again',
    'log in again',
    'the archive folder /a cannot be used',
  ];
  for (const error_message of messages) await insertRun(db, { status: 'failed', error_message });
  await insertRun(db, { status: 'completed' });
  await sql(
    db,
    `INSERT INTO host_logins (git_host_url, reason, refused_since)
     VALUES ('https://a.example', 'log in again', now()), ('https://b.example', 'it refuses the login', now())`,
  );
  await migrate();
  const rows = await sql<{ fault: string | null }>(db, 'SELECT fault FROM backup_runs ORDER BY id');
  expect(rows.map(({ fault }) => fault)).toEqual(['stale', 'no_archives', null, null, null, null]);
  expect(
    await sql(db, 'SELECT refused_run_id AS run FROM host_logins ORDER BY git_host_url'),
  ).toEqual([{ run: 4 }, { run: null }]);
});

it('archives of an earlier release say how much of them is missing', async () => {
  const { db } = database;
  const missing = {
    'o/a': 'o__a.bundle is missing',
    'o/b': 'o__b.1.bundle has another size',
    'o/c': 'o__c.versions/2.json is missing',
    // A full bundle that is named like an increment.
    'o/d.1': 'o__d.1.bundle is missing',
    'o/e': 'the archive folder /a has none of its 5 archives: is its disk mounted?',
    'o/f': null,
  };
  for (const [name, text] of Object.entries(missing)) {
    const row = { repo_full_name: name, archive_key: `${name.replace('/', '__')}.bundle` };
    const at = text === null ? null : new Date().toISOString();
    await sql(
      db,
      `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_missing, archive_missing_since)
       VALUES ($1, $2, $3, $4)`,
      [...Object.values(row), text, at],
    );
  }
  await migrate();
  const rows = await sql<{ kind: string | null }>(
    db,
    'SELECT archive_missing_kind AS kind FROM worker_repo_state ORDER BY repo_full_name',
  );
  expect(rows.map(({ kind }) => kind)).toEqual([
    'bundle',
    'part',
    'part',
    'bundle',
    'folder',
    null,
  ]);
});

it('results and stores of an earlier release say what is lacking', async () => {
  const { db } = database;
  const run = await insertRun(db, { status: 'completed' });
  const incomplete = [
    'Git LFS: 2 files of HEAD; Submodules: 1 is not in the archive',
    'Submodules: 1 is not in the archive',
    'Git LFS: 2 files of HEAD',
    '',
    null,
  ];
  for (const text of incomplete) await insertResult(db, run, 'o/a', { incomplete: text });
  const reasons = ['not reached: away', 'not pushed: not reached: away', 'full', ''];
  for (const [index, reason] of reasons.entries()) {
    const failing_since = reason === '' ? null : new Date().toISOString();
    const row = { repo_full_name: `o/${index}`, store: 's3://a', reason, failing_since };
    await sql(
      db,
      'INSERT INTO archive_stores (repo_full_name, store, reason, failing_since) VALUES ($1, $2, $3, $4)',
      Object.values(row),
    );
  }
  await migrate();
  const results = await sql<{ lacks: string | null }>(
    db,
    'SELECT lacks::text FROM backup_results ORDER BY id',
  );
  const [lfs, submodules] = ['Git LFS: 2 files of HEAD', 'Submodules: 1 is not in the archive'];
  expect(results.map(({ lacks }) => lacks && JSON.parse(lacks))).toEqual([
    ...[{ lfs, submodules }, { submodules }, { lfs }, null, null],
  ]);
  const stores = await sql<{ fault: string | null }>(
    db,
    'SELECT fault FROM archive_stores ORDER BY repo_full_name',
  );
  expect(stores.map(({ fault }) => fault)).toEqual(['unreached', 'unreached', 'lacking', null]);
});
