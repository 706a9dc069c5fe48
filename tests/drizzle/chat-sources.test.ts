import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { migrate } from '../../lib/database/migrate.ts';
import { createEmbedded } from '../support/databases.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { sql } from '../support/records.ts';

const EARLIER = 14;
const folder = useTemporaryFolder();

it('the migration keeps every message of a database without sources, and adds no sources', async () => {
  const database = await createEmbedded({ migrated: false });
  try {
    const { db } = database;
    const drizzle = join(folder, 'drizzle');
    await cp('drizzle', drizzle, { recursive: true });
    // Triggers on a table that did not exist yet.
    await rm(join(drizzle, 'functions/restore-drills.sql'));
    const path = join(drizzle, 'meta/_journal.json');
    const journal = JSON.parse(await readFile(path, 'utf8')) as { entries: { idx: number }[] };
    const entries = journal.entries.filter(({ idx }) => idx <= EARLIER);
    await writeFile(path, JSON.stringify({ ...journal, entries }));
    expect(await migrate(db, drizzle)).toBe(EARLIER + 1);
    await sql(
      db,
      `INSERT INTO chat_messages (username, role, content, request_id)
       VALUES ('ada', 'user', 'Why?', 'r1'), ('ada', 'assistant', 'The disk.', 'r1')`,
    );
    await migrate(db, 'drizzle');
    expect(await sql(db, 'SELECT content, sources FROM chat_messages ORDER BY id')).toEqual([
      { content: 'Why?', sources: [] },
      { content: 'The disk.', sources: [] },
    ]);
  } finally {
    await database.close();
  }
});
