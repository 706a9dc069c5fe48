import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { git } from '../../support/git.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let target: string;
beforeEach(async () => {
  await bench.add({ fullName: 'ada/backups', private: true }, { installed: false });
  await bench.add({ fullName: 'team/closed', private: true });
  await bench.add({ fullName: 'team/open' });
  target = `${bench.host.url}/ada/backups.git`;
});

const run = (env: Record<string, string> = {}) =>
  bench.run({
    databaseUrl: database.url,
    env: { BACKUP_REPO_PATH: target, BACKUP_REPO_LAYOUT: 'files', ...env },
  });
const resultOf = async (name: string) =>
  (
    await rowsOf(
      database.db,
      `SELECT status, error_message FROM backup_results WHERE repo_full_name = '${name}'
       ORDER BY id DESC LIMIT 1`,
    )
  )[0];
const pushed = () =>
  git(join(bench.folder, 'host/ada/backups.git'), 'ls-tree', '--name-only', 'main');
/** The tokens used to query the destination, in order. */
const asked = () =>
  bench.host.state.requests
    .filter(({ path }) => path === '/api/v3/repos/ada/backups')
    .map(({ authorization }) => authorization);
const doubt = (why: string) => ({
  status: 'failed',
  error_message: expect.stringContaining(
    `not pushed: the repository is private, and the destination is not confirmed private: ${why}`,
  ),
});

it('the privacy check uses the destination login, once for many repositories', async () => {
  await bench.add({ fullName: 'team/closed-too', private: true });
  await bench.logIn();
  const destination = await bench.logIn('token', 'github:destination');
  expect((await run()).code).toBe(0);
  expect(asked()).toEqual([`Bearer ${destination}`]);
  expect(await pushed()).toContain('team__closed.bundle');
});

it('the privacy check asks with the destination login, then the source login, then no login', async () => {
  const source = await bench.logIn();
  const destination = await bench.logIn('token', 'github:destination');
  bench.host.state.repositories.delete('ada/backups');
  expect((await run()).code).toBe(1);
  expect(asked()).toEqual([`Bearer ${destination}`, `Bearer ${source}`, null]);
  expect(await resultOf('team/closed')).toEqual(
    doubt(
      'the git host does not show it (destination login: 404; source login: 404; no login: 404)',
    ),
  );
});

it('the privacy check uses the source login if there is no destination login', async () => {
  const source = await bench.logIn();
  await run();
  expect(asked()).toEqual([`Bearer ${source}`]);
});

it('the privacy check uses a token from the environment if no source login is stored', async () => {
  const token = makeToken('ghp');
  bench.host.state.tokens.set(token, { login: 'ada', endsAt: null, ofApp: false });
  await run({ GIT_TOKEN_PRIVATE: token });
  expect(asked()).toEqual([`Bearer ${token}`]);
});

it('a private repository is not pushed to a public destination, its archive is kept, and the run goes on', async () => {
  bench.host.addRepository({ fullName: 'ada/backups', private: false });
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/closed')).toEqual(doubt('it is public'));
  expect(await resultOf('team/open')).toMatchObject({ status: 'completed' });
  expect(await pushed()).toBe('a.txt\nteam__open.bundle');
  expect(await readdir(bench.archives)).toContain('team__closed.bundle');
  const state = `SELECT archive_key FROM worker_repo_state WHERE repo_full_name = 'team/closed'`;
  expect(await rowsOf(database.db, state)).toEqual([{ archive_key: 'team__closed.bundle' }]);

  // The next run fails as well although nothing changed, because the archive is still not pushed.
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/closed')).toEqual(doubt('it is public'));

  bench.host.addRepository({ fullName: 'ada/backups', private: true });
  expect((await run()).code).toBe(0);
  expect(await pushed()).toBe('a.txt\nteam__closed.bundle\nteam__open.bundle');
});

it('an internal destination is not confirmed private', async () => {
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  bench.host.addRepository({ fullName: 'ada/backups', private: true, internal: true });
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/closed')).toEqual(
    doubt('it is internal: its whole enterprise can read it'),
  );
  expect(await pushed()).not.toContain('team__closed.bundle');
});

it('a renamed destination is not confirmed private', async () => {
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  bench.host.addRepository({ fullName: 'ada/vault', private: true });
  bench.host.state.renamed.set('ada/backups', 'ada/vault');
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/closed')).toEqual(
    doubt('it was renamed to ada/vault: set BACKUP_REPO_PATH to that'),
  );
});

it.each([
  ['on another host', 'ssh://git@example.invalid/ada/backups.git', 'it is not on 127.0.0.1'],
  ['without an owner', 'git@127.0.0.1:backups.git', 'its address does not name an owner'],
])('an address %s is never confirmed private', async (_what, address, why) => {
  await bench.logIn();
  expect((await run({ BACKUP_REPO_PATH: address, GIT_SSH_COMMAND: 'false' })).code).toBe(1);
  expect(await resultOf('team/closed')).toEqual(doubt(why));
  expect(asked()).toEqual([]);
});

it('an ssh address is identified by its host, whatever its port, and pushed to over ssh', async () => {
  await bench.logIn();
  const destination = await bench.logIn('token', 'github:destination');
  // Stands in for ssh, whose last argument is the remote command.
  const ssh = join(bench.folder, 'ssh');
  const command = `sed "s#'/#'${join(bench.folder, 'host')}/#"`;
  const script = `#!/bin/sh\nfor last; do :; done\neval "$(echo "$last" | ${command})"\n`;
  await writeFile(ssh, script, { mode: 0o700 });
  await run({
    BACKUP_REPO_PATH: 'ssh://git@127.0.0.1:2222/ada/backups.git',
    ...{ GIT_SSH: ssh, GIT_SSH_VARIANT: 'ssh' },
  });
  expect(asked()).toEqual([`Bearer ${destination}`]);
  expect(await resultOf('team/closed')).toMatchObject({ status: 'completed', error_message: '' });
  expect(await pushed()).toContain('team__closed.bundle');
});

it('archives are written if the destination login cannot be read, and the run reports why they are not pushed', async () => {
  await bench.logIn();
  await bench.logIn('token', 'github:destination', 'https://elsewhere.example');
  expect((await run()).code).toBe(1);
  expect(await resultOf('team/open')).toMatchObject({
    status: 'failed',
    error_message: expect.stringMatching(
      /^not pushed: the destination login cannot be used: it is for https:\/\/elsewhere\.example/,
    ),
  });
  expect(await readdir(bench.archives)).toContain('team__open.bundle');
});
