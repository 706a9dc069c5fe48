import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeApp } from '../../../lib/worker/logins/app-file.ts';
import { runLoginCommand } from '../../../lib/worker/logins/commands.ts';
import type { LoginName } from '../../../lib/worker/logins/login.ts';
import { factsAt, openTestSession, storeAppLogin, useLoginBench } from '../../support/logins.ts';

const bench = useLoginBench();

async function logOut(login: LoginName | 'all') {
  const { session, written } = openTestSession(bench);
  const code = await runLoginCommand(session, { name: 'logout', login });
  return { code, ...written };
}
const names = async () => Object.keys(await bench.store.list());

describe('logout', () => {
  it('removes the source login and says that the destination login remains', async () => {
    await storeAppLogin(bench);
    await storeAppLogin(bench, 'github:destination');
    const { code, stdout, stderr } = await logOut('github:source');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Removed the source login.\n' });
    expect(stderr).toContain('The destination login remains');
    expect(stderr).toContain('does not revoke tokens');
    expect(await names()).toEqual(['github:destination']);
    expect([...bench.keychain.entries.keys()]).toEqual([`github:destination ${bench.folder}`]);
  });

  it('removes only the given profile', async () => {
    await storeAppLogin(bench);
    await storeAppLogin(bench, 'github:destination');
    expect((await logOut('github:destination')).stdout).toBe('Removed the destination login.\n');
    expect(await names()).toEqual(['github:source']);
  });

  it('all removes every login and app.json', async () => {
    const app = { id: 1, slug: 's', client_id: 'c', client_secret: 's', pem: 'p', html_url: 'h' };
    await writeApp(
      bench.folder,
      { ...app, webhook_secret: null, host: bench.host.url },
      () => undefined,
    );
    await storeAppLogin(bench);
    await storeAppLogin(bench, 'github:destination', ['file']);
    const key = {
      facts: factsAt(bench.host, { kind: 'key' }),
      secrets: { token: 'k', refresh_token: null },
    };
    await bench.store.save('gateway:default', key, ['keychain']);
    expect((await logOut('all')).stdout.split('\n')).toEqual([
      'Removed the source login.',
      'Removed the destination login.',
      'Removed the gateway login.',
      `Removed ${join(bench.folder, 'app.json')}.`,
      '',
    ]);
    expect(bench.keychain.entries.size).toBe(0);
    expect(JSON.parse(await readFile(bench.store.path, 'utf8'))).toEqual({
      version: 1,
      logins: {},
    });
    await expect(stat(join(bench.folder, 'app.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.each([
    ['github:source', 'There was no source login.\n'],
    ['all', 'There was no login.\n'],
  ] as const)('%s says that there was nothing', async (login, stdout) => {
    expect(await logOut(login)).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('all leaves no copy of a secret that a killed process left', async () => {
    await storeAppLogin(bench, 'github:source', ['file']);
    for (const name of ['.credentials.json.1.5a0c', '.app.json.1.5a0c']) {
      await writeFile(join(bench.folder, name), 'a secret', { mode: 0o600 });
    }
    await logOut('all');
    expect((await readdir(bench.folder)).sort()).toEqual(['credentials.json', 'credentials.lock']);
  });

  it('all continues if a secret cannot be removed, and fails at the end', async () => {
    const app = { id: 1, slug: 's', client_id: 'c', client_secret: 's', pem: 'p', html_url: 'h' };
    const record = { ...app, webhook_secret: null, host: bench.host.url };
    await writeApp(bench.folder, record, () => undefined);
    await storeAppLogin(bench);
    await storeAppLogin(bench, 'github:destination', ['file']);
    bench.keychain.fault = 'it is locked';
    await expect(logOut('all')).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: expect.stringContaining('the source login was kept'),
    });
    expect(await names()).toEqual(['github:source']);
    await expect(stat(join(bench.folder, 'app.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('fails, and keeps the login, when its secret cannot be removed', async () => {
    await storeAppLogin(bench);
    bench.keychain.fault = 'it is locked';
    await expect(logOut('github:source')).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: expect.stringContaining(
        'the source login was kept: the keychain could not be changed (it is locked)',
      ),
    });
    expect(await names()).toEqual(['github:source']);
  });
});
