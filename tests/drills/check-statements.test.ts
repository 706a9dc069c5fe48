import { beforeEach, expect, it } from 'vitest';
import { checkStatements } from '../../lib/drills/check-statements.ts';
import { signDrills } from '../../lib/drills/sign-drills.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { silentLog } from '../support/databases.ts';
import { deploymentSecrets, examineWith } from '../support/doctor.ts';
import { emptyLedger, someDrill, tamper } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';

const database = useDatabase();
const sign = () =>
  signDrills({ db: database.db, clock: createTestClock(), log: silentLog, keys: 'ab'.repeat(32) });
const drill = (day: number) =>
  recordDrill(database.db, someDrill({ startedAt: `2026-05-0${day}T10:00:00.000Z` }), null);

beforeEach(async () => {
  await emptyLedger(database.db);
  await sign();
  for (const day of [1, 2, 3]) await drill(day);
  await sign();
});

/** The hash of a row, made right again after a change, as somebody can who may change the table. */
const rehash = (id: number) =>
  `UPDATE restore_drills AS drill SET sha256 = encode(sha256(convert_to(restore_drill_text(drill), 'UTF8')), 'hex') WHERE id = ${id}`;

it('finds statements right if the ledger still has what they name', async () => {
  expect(await checkStatements(database.db)).toEqual({ statements: 3, broken: null });
  expect(await checkStatements(database.db, { after: '1', to: '2' })).toMatchObject({
    statements: 1,
  });
});

it.each<[string, string, string, string]>([
  [
    'the row was changed with its hash',
    `UPDATE restore_drills SET bytes = 9 WHERE id = 3; ${rehash(3)}`,
    '1',
    'row 3, which was the last one',
  ],
  ['the row was removed', 'DELETE FROM restore_drills WHERE id = 1', '1', 'was removed'],
  [
    'the last row was cut off',
    'DELETE FROM restore_drills WHERE id = 3',
    '1',
    'row 3, which was the last one',
  ],
  [
    'the statement was changed',
    "UPDATE drill_statements SET statement = replace(statement, 'proven', 'failed') WHERE drill_id = 2",
    '2',
    'altered after it was signed',
  ],
  [
    'the envelope has another signature',
    'UPDATE drill_statements SET envelope_signature = statement_signature WHERE drill_id = 2',
    '2',
    'altered after it was signed',
  ],
  [
    'the detached signature is another',
    'UPDATE drill_statements SET statement_signature = envelope_signature WHERE drill_id = 2',
    '2',
    'altered after it was signed',
  ],
  [
    'the statement is about another row',
    'DELETE FROM drill_statements WHERE drill_id = 2; UPDATE drill_statements SET drill_id = 2 WHERE drill_id = 1',
    '2',
    'changed after it was signed',
  ],
  [
    'the key is of another installation',
    "UPDATE drill_statements SET key_id = repeat('0', 64) WHERE drill_id = 2",
    '2',
    'not one of this installation',
  ],
  [
    'the public key was replaced under its id',
    "UPDATE signing_keys SET public_key = replace(public_key, 'MC', 'MD')",
    '1',
    'not one of this installation',
  ],
])('finds that %s', async (_what, change, drillId, reason) => {
  await tamper(database.db, change);
  const { broken } = await checkStatements(database.db);
  expect(broken).toEqual({ drillId, reason: expect.stringContaining(reason) });
});

it('is part of `npm run doctor` and of the evidence', async () => {
  // The whole chain is computed anew, so that only the statements reveal the change.
  await tamper(
    database.db,
    `UPDATE restore_drills SET bytes = 9 WHERE id = 2; ${rehash(2)};
     UPDATE restore_drills SET previous_sha256 = (SELECT sha256 FROM restore_drills WHERE id = 2) WHERE id = 3; ${rehash(3)}`,
  );
  const { of } = await examineWith({
    ...deploymentSecrets,
    ...{ DATABASE_URL: database.url },
  });
  expect(of('restore_drills')).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining(
      'the signed statement about row 1 of the ledger of restore drills is wrong',
    ),
  });
  const evidence = await createClient({ db: database.db }).get(
    '/api/evidence?from=2026-05-01&to=2026-06-01',
  );
  expect(evidence.text).toContain('each is unaltered and follows the one before it');
  expect(evidence.text).toContain('NOT every signed statement is right');
});

it('says in the evidence which key signed, and how to verify', async () => {
  const evidence = await createClient({ db: database.db }).get(
    '/api/evidence?from=2026-05-01&to=2026-06-01',
  );
  const keys = (await createClient({ db: database.db }).get('/api/signing-keys')).body as {
    data: { id: string }[];
  };
  expect(evidence.text).toContain(`SHA-256 of its public part (DER): ${keys.data[0]?.id}`);
  expect(evidence.text).toContain('3 have a signed statement');
  expect(evidence.text).toContain('openssl pkeyutl -verify -pubin -inkey KEY.pem -rawin');
});
