import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { everyDatabase } from '../support/databases.ts';
import { emptyLedger } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

const insert = (name: string, more: Record<string, string> = {}) => {
  const columns = Object.keys(more).map((column) => `, ${column}`);
  const values = Object.values(more).map((value) => `, ${value}`);
  return `INSERT INTO restore_drills
    (repository_name, storage, started_at, duration_ms, bytes, outcome, evidence${columns.join('')})
    VALUES ('${name}', 'folder', '2026-05-01T10:00:00.25Z', 12, 34, 'proven', '{"refs": 2}'${values.join('')})`;
};
const rows = `SELECT id::text, repository_name AS name, previous_sha256 AS previous, sha256
  FROM restore_drills ORDER BY restore_drills.id`;
interface Row {
  id: string;
  name: string;
  previous: string;
  sha256: string;
}

describe.each(everyDatabase)('the ledger of drills in %s', (_name, create) => {
  const database = useDatabase(create);

  afterEach(() => emptyLedger(database.db));

  it.each([
    ['a change', "UPDATE restore_drills SET outcome = 'failed', reason = 'no'"],
    ['a change that matches no row', 'UPDATE restore_drills SET bytes = 1 WHERE id = 99'],
    ['a deletion', 'DELETE FROM restore_drills'],
    ['a truncation', 'TRUNCATE restore_drills CASCADE'],
  ])('rejects %s', async (_what, statement) => {
    const { db } = database;
    await sql(db, insert('ada/app'));
    const before = await sql(db, rows);
    await expect(sql(db, statement)).rejects.toMatchObject({
      message: expect.stringContaining('restore_drills is append-only'),
    });
    expect(await sql(db, rows)).toEqual(before);
  });

  it('links each row to the previous one, with hashes that anyone can recompute', async () => {
    const { db } = database;
    await sql(db, insert('ada/app', { version: '7' }));
    await sql(db, insert('ädä/app\noutcome:6:failed'));
    const [first, second] = await sql<Row>(db, rows);
    const line = (name: string, value: string | null) =>
      value === null ? `${name}:-\n` : `${name}:${Buffer.byteLength(value)}:${value}\n`;
    const text = (row: Row | undefined, version: string | null) =>
      [
        line('previous_sha256', row?.previous ?? ''),
        line('id', row?.id ?? ''),
        line('repository_name', row?.name ?? ''),
        line('version', version),
        line('storage', 'folder'),
        line('started_at', '2026-05-01T10:00:00.250000Z'),
        line('duration_ms', '12'),
        line('bytes', '34'),
        line('outcome', 'proven'),
        line('reason', null),
        line('evidence', '{"refs": 2}'),
      ].join('');
    const hash = (content: string) => createHash('sha256').update(content).digest('hex');
    expect(first).toMatchObject({ previous: '0'.repeat(64), sha256: hash(text(first, '7')) });
    expect(second).toMatchObject({ previous: first?.sha256, sha256: hash(text(second, null)) });
  });

  it('keeps the id and hashes of a copied row', async () => {
    const { db } = database;
    const copied = { id: '70', previous_sha256: "'a'", sha256: "'b'" };
    await sql(db, insert('ada/app', copied));
    await sql(db, insert('ada/next'));
    expect(await sql(db, rows)).toMatchObject([
      { id: '70', previous: 'a', sha256: 'b' },
      { previous: 'b', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
  });

  it('rejects a second row of a drill', async () => {
    const { db } = database;
    await sql(db, insert('ada/app'));
    await sql(db, `${insert('ada/app')} ON CONFLICT DO NOTHING`);
    expect(await sql(db, rows)).toHaveLength(1);
  });

  it('remains a single chain under concurrent writers', async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => connect(database.url)));
    try {
      await Promise.all(
        clients.map(async (client, number) => {
          for (let n = 0; n < 10; n++) await client.query(insert(`ada/app-${number}-${n}`));
        }),
      );
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
    const found = await sql<Row>(database.db, rows);
    expect(found).toHaveLength(60);
    for (const [index, row] of found.entries()) {
      expect(row.previous).toBe(found[index - 1]?.sha256 ?? '0'.repeat(64));
    }
  });
});
