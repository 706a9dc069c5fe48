import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { createKeychain, KeychainError } from '../../../lib/worker/base/keychain.ts';
import { openLoginStore, storesFor } from '../../../lib/worker/logins/login-store.ts';
import { createTestClock } from '../../support/clock.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { makeToken } from '../../support/git-host/state.ts';
import {
  hasSecretService,
  type SecretService,
  startSecretService,
} from '../../support/secret-service.ts';

const folder = useTemporaryFolder();
const bare = { PATH: process.env.PATH, HOME: '/nonexistent' };

describe.skipIf(!hasSecretService)('the keychain of a desktop session', () => {
  let desktop: SecretService;
  beforeAll(async () => {
    desktop = await startSecretService();
  });
  afterAll(() => desktop.close());

  it('returns what was written, replaces it and removes it', async () => {
    const keychain = createKeychain(desktop.env, systemClock);
    expect(await keychain.read('a')).toBeNull();
    await keychain.write('a', 'first');
    await keychain.write('a', 'sécond\n"');
    await keychain.write('b', 'other');
    expect([await keychain.read('a'), await keychain.read('b')]).toEqual(['sécond\n"', 'other']);
    await keychain.remove('a');
    await keychain.remove('a');
    expect([await keychain.read('a'), await keychain.read('b')]).toEqual([null, 'other']);
  });

  it('holds a separate login for each folder, whose secret is not in credentials.json', async () => {
    const open = (name: string) =>
      openLoginStore({
        folder: join(folder, name),
        keychain: createKeychain(desktop.env, systemClock),
        notify: (text) => {
          throw new Error(text);
        },
      });
    const loginOf = (token: string) => ({
      facts: {
        kind: 'token' as const,
        account: 'ada',
        host: 'https://github.com',
        client_id: null,
        expires_at: null,
        refresh_expires_at: null,
      },
      secrets: { token, refresh_token: null },
    });
    const tokens = [makeToken('ghp'), makeToken('ghp')];
    for (const [index, token] of tokens.entries()) {
      const kept = await open(`f${index}`).save('github:source', loginOf(token), storesFor('auto'));
      expect(kept).toBe('keychain');
    }
    for (const [index, token] of tokens.entries()) {
      const store = open(`f${index}`);
      const login = await store.find('github:source');
      if (login === null) throw new Error('there is no login');
      expect(JSON.stringify(login)).not.toContain(token);
      expect((await store.secretsOf('github:source', login)).token).toBe(token);
    }
  });
});

it('the error without a desktop session says why there is no keychain', async () => {
  const keychain = createKeychain(bare, systemClock);
  await expect(keychain.write('a', 'secret')).rejects.toThrow(KeychainError);
  // On Linux the Secret Service fails, rather than the kernel's keyring, which is lost at a reboot.
  if (process.platform === 'linux') await expect(keychain.read('a')).rejects.toThrow('DBus');
});

it('the keychain gives up on a hanging D-Bus after three seconds, and leaves no process behind', async () => {
  const socket = join(folder, 'bus');
  // Accepts connections and never answers.
  const bus = createServer();
  const connected = once(bus, 'connection');
  bus.listen(socket);
  const clock = createTestClock();
  const keychain = createKeychain(
    { ...bare, DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}` },
    clock,
  );
  const call = keychain.read('a');
  const [connection] = await connected;
  const hungUp = once(connection, 'close');
  connection.resume();
  clock.advance(3_000);
  await expect(call).rejects.toThrow('it did not answer within 3 seconds');
  // The process that made the call has ended, and its connection with it.
  await hungUp;
  bus.close();
});
