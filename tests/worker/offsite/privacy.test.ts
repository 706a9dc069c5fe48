import { generateIdentity, identityToRecipient } from 'age-encryption';
import { beforeEach, expect, it } from 'vitest';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { useS3Server } from '../../support/s3-server.ts';
import { lastResults } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
const server = useS3Server();
beforeEach(async () => {
  await bench.add({ fullName: 'team/closed', private: true });
  await bench.add({ fullName: 'team/open' });
  await bench.logIn();
});

const encrypted = async () => ({
  BACKUP_AGE_RECIPIENTS: await identityToRecipient(await generateIdentity()),
  BACKUP_NAMES_KEY: 'a key for names, of more than 32 characters',
});

it.each([
  ['neither encrypted nor declared private gets the public repository only', '', false, 1],
  ['encrypted gets both repositories', '', true, 2],
  ['declared private gets both repositories', '&private=yes', false, 2],
])('a bucket that is %s', async (what, parameters, isEncrypted, count) => {
  const prefix = what.slice(0, 9).replaceAll(' ', '-');
  const { code, stderr } = await bench.run({
    databaseUrl: database.url,
    env: {
      BACKUP_STORES: server.address(prefix, parameters),
      ...(isEncrypted ? await encrypted() : {}),
    },
  });
  const stored = new Set(
    server
      .takeRequests()
      .filter(({ method, key }) => method === 'PUT' && key.includes('/archives/'))
      .map(({ key }) => key.split('/')[2]),
  );
  expect(stored.size).toBe(count);
  const results = await lastResults(database.db);
  expect(results).toMatchObject([
    { repo_full_name: 'team/closed', status: count === 2 ? 'completed' : 'failed' },
    { repo_full_name: 'team/open', status: 'completed' },
  ]);
  expect(code).toBe(count === 2 ? 0 : 1);
  if (!isEncrypted) expect(stored).toContain('team__open');
  if (count === 1) {
    expect(stderr).toContain(
      `s3://backups/${prefix}: a private repository is stored only if it is encrypted`,
    );
  }
});
