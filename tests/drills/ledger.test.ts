import { afterEach, describe, expect, it } from 'vitest';
import { checkLedger } from '../../lib/drills/check-ledger.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { deploymentSecrets, examineWith } from '../support/doctor.ts';
import { emptyLedger, someDrill, tamper } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';

const database = useDatabase();
afterEach(() => emptyLedger(database.db));

/** More rows than are read at once. */
async function fill(rows = 1_200): Promise<void> {
  await database.db.query(
    {
      text: `INSERT INTO restore_drills (repository_name, storage, started_at, duration_ms, bytes, outcome, evidence)
        SELECT 'ada/app-' || n, 'folder', '2026-05-01'::timestamptz + n * interval '1 minute', 7, 8, 'proven', '{"refs": 3}'
        FROM generate_series(1, $1::int) AS n`,
    },
    [rows],
  );
}

describe('a check of the ledger', () => {
  it('finds an empty ledger intact', async () => {
    expect(await checkLedger(database.db)).toEqual({ rows: 0, head: '0'.repeat(64), broken: null });
  });

  it('finds a ledger intact if all rows follow each other', async () => {
    await fill();
    const check = await checkLedger(database.db);
    expect(check).toMatchObject({ rows: 1_200, broken: null });
    const [last] = await database.db.query<{ sha256: string }>({
      text: 'SELECT sha256 FROM restore_drills ORDER BY id DESC LIMIT 1',
    });
    expect(check.head).toBe(last?.sha256);
  });

  it('computes the same hash as the database for values that are hard to write', async () => {
    await recordDrill(
      database.db,
      someDrill({ repository: 'Ørg/c 🙂\n8:x', outcome: 'failed', reason: 'it\'s "torn"\\\n' }),
      null,
    );
    expect(await checkLedger(database.db)).toMatchObject({ rows: 1, broken: null });
  });

  it.each([
    [
      'was changed',
      "UPDATE restore_drills SET outcome = 'failed', reason = 'x' WHERE id = 700",
      '700',
      699,
    ],
    ['has another duration', 'UPDATE restore_drills SET duration_ms = 8 WHERE id = 1', '1', 0],
    ['follows a deleted one', 'DELETE FROM restore_drills WHERE id = 700', '701', 699],
    [
      'has the evidence of another',
      `UPDATE restore_drills SET evidence = '{"refs": 4}' WHERE id = 3`,
      '3',
      2,
    ],
  ])('names the first row that %s', async (_what, statement, id, rows) => {
    await fill();
    await tamper(database.db, statement);
    expect(await checkLedger(database.db)).toMatchObject({ rows, broken: { id } });
  });

  it('finds a row that was put before the first one, with an id of its own', async () => {
    await fill(3);
    await database.db.query({
      text: `INSERT INTO restore_drills (id, repository_name, storage, started_at, duration_ms, bytes, outcome, evidence, previous_sha256, sha256)
        VALUES (-5, 'eve/app', 'folder', '2026-05-02', 7, 8, 'proven', '{}', 'forged', 'forged')`,
    });
    expect(await checkLedger(database.db)).toMatchObject({ rows: 0, broken: { id: '-5' } });
  });

  it('is made by the doctor', async () => {
    const examine = () =>
      examineWith({ ...deploymentSecrets, DATABASE_URL: database.url }).then((found) => found);
    expect((await examine()).of('restore_drills')).toMatchObject({ status: 'ok' });
    await fill(3);
    expect((await examine()).of('restore_drills')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^the ledger is intact: rows 3, last hash [0-9a-f]{64}$/),
    });
    await tamper(database.db, "UPDATE restore_drills SET repository_name = 'eve/app' WHERE id = 2");
    const { report, of } = await examine();
    expect(of('restore_drills')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining(
        'row 2 (eve/app): it was altered after it was written; the 1 before',
      ),
    });
    expect(report.ok).toBe(false);
  });
});
