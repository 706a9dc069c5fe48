import { afterAll, beforeAll, expect, it } from 'vitest';
import { identityVariables } from '../../../lib/config/identity.ts';
import { readConfig } from '../../../lib/config/read.ts';
import { createPasswords } from '../../../lib/observatory/base/passwords.ts';
import { hashPassword } from '../../../lib/security/password.ts';
import { addUser } from '../../../lib/users/users.ts';
import { createPostgres, silentLog, type TestDatabase } from '../../support/databases.ts';
import { olderHash } from '../../support/passwords.ts';
import { times } from '../size.ts';
import { printTimes, sample, spreadOf } from './samples.ts';

// Whether the duration of a failed login reveals which users exist.

let database: TestDatabase;
beforeAll(async () => {
  database = await createPostgres();
  await addUser(database.db, 'stored', await hashPassword('the password of stored'));
  await addUser(database.db, 'older', olderHash('the password of older'));
});
afterAll(() => database.close());

it('a failed login takes as long for an unknown user', async () => {
  const config = readConfig(identityVariables, {
    AUTH_USERNAME: 'configured',
    AUTH_PASSWORD: 'the password of configured',
  });
  const { check } = createPasswords({ config, db: database.db, log: silentLog });
  const names = ['unknown', 'stored', 'older', 'configured'].map((name) => ({
    name,
    async act() {
      if ((await check(name, 'a wrong password')) !== null) throw new Error('it was taken');
    },
  }));
  const measured = await sample(names, times(10, 300));
  printTimes(names, measured);
  expect(spreadOf(measured)).toBeLessThan(0.25);
});
