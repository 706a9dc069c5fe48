import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPasswordCheck } from '../../../lib/observatory/password-check.ts';
import { identityVariables } from '../../../lib/platform/config/identity.ts';
import { readConfig } from '../../../lib/platform/config/read.ts';
import { hashPassword } from '../../../lib/platform/password.ts';
import { addUser } from '../../../lib/records/users.ts';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { times } from '../size.ts';
import { sample, spreadOf, tell } from './samples.ts';

// Whether the time of a failed login tells which names there are.

let database: TestDatabase;
beforeAll(async () => {
  database = await createPostgres();
  await addUser(database.db, 'stored', await hashPassword('the password of stored'));
});
afterAll(() => database.close());

it('a failed login takes as long for a name that nobody has', async () => {
  const config = readConfig(identityVariables, {
    AUTH_USERNAME: 'configured',
    AUTH_PASSWORD: 'the password of configured',
  });
  const check = createPasswordCheck(config, database.db);
  const names = ['unknown', 'stored', 'configured'].map((name) => ({
    name,
    async act() {
      if ((await check(name, 'a wrong password')) !== null) throw new Error('it was taken');
    },
  }));
  const measured = await sample(names, times(10, 300));
  tell(names, measured);
  expect(spreadOf(measured)).toBeLessThan(0.25);
});
