import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const migration = new URL('../../drizzle/0029_stopped_by.sql', import.meta.url);

it('runs of an earlier release say which signal ended their worker', async () => {
  const { db } = database;
  const messages = [
    'interrupted by SIGINT',
    'interrupted by SIGTERM (on nas)',
    'interrupted by SIGHUP',
    'git was interrupted by SIGINT',
    'interrupted by SIGINTERN',
    'interrupted by SIGINT while it waited',
  ];
  for (const error_message of messages) await insertRun(db, { status: 'failed', error_message });
  await insertRun(db, { status: 'completed' });
  const statements = (await readFile(migration, 'utf8')).split('--> statement-breakpoint');
  // A migration may be repeated.
  for (const statement of [...statements, ...statements]) await sql(db, statement);
  const rows = await sql<{ by: string | null }>(
    db,
    'SELECT stopped_by AS by FROM backup_runs ORDER BY id',
  );
  const none = [null, null, null, null];
  expect(rows.map(({ by }) => by)).toEqual(['SIGINT', 'SIGTERM', 'SIGHUP', ...none]);
});
