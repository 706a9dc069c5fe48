import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeychainError } from '../../../lib/worker/base/keychain.ts';
import { keychainEntry, storesFor } from '../../../lib/worker/logins/login-store.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { factsAt, useLoginBench } from '../../support/logins.ts';

const bench = useLoginBench();

const NAME = 'github:source';
const makeLogin = () => ({
  facts: factsAt(bench.host),
  secrets: { token: makeToken('ghu'), refresh_token: makeToken('ghr') },
});
const fileText = () => readFile(join(bench.folder, 'credentials.json'), 'utf8');
const entry = () => bench.keychain.entries.get(keychainEntry(NAME, bench.folder));

describe('a login', () => {
  it('is stored in the keychain, and listed in credentials.json without its secrets', async () => {
    const login = makeLogin();
    expect(await bench.store.save(NAME, login, storesFor('auto'))).toBe('keychain');
    const text = await fileText();
    expect(JSON.parse(text).logins[NAME]).toEqual({ ...login.facts, store: 'keychain' });
    expect(text).not.toContain(login.secrets.token);
    expect(JSON.parse(entry() ?? '')).toEqual(login.secrets);
    expect(bench.notices).toEqual([]);
  });

  it('is stored only in the file if requested, without a notice', async () => {
    const login = makeLogin();
    bench.keychain.fault = 'not asked';
    expect(await bench.store.save(NAME, login, storesFor('file'))).toBe('file');
    expect(JSON.parse(await fileText()).logins[NAME]).toEqual({
      ...login.facts,
      ...login.secrets,
      store: 'file',
    });
    expect(bench.notices).toEqual([]);
  });

  it.each([
    ['fails', 'the keychain: it is locked', () => (bench.keychain.fault = 'it is locked')],
    ['forgets', 'does not return what was stored', () => (bench.keychain.forgets = true)],
  ])('is stored in the file, with a notice, when the keychain %s', async (_how, why, damage) => {
    damage();
    const login = makeLogin();
    expect(await bench.store.save(NAME, login, storesFor('auto'))).toBe('file');
    expect(bench.notices).toEqual([expect.stringContaining(why)]);
    expect(bench.notices[0]).toContain('credentials.json');
    const stored = await bench.store.find(NAME);
    expect(stored && (await bench.store.secretsOf(NAME, stored))).toEqual(login.secrets);
  });

  it('causes an error that lists each store if it cannot be stored', async () => {
    bench.keychain.write = async () => {
      await rm(bench.folder, { recursive: true });
      throw new KeychainError('it is locked');
    };
    await expect(bench.store.save(NAME, makeLogin(), storesFor('auto'))).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: expect.stringMatching(/the keychain: it is locked; nor in .*credentials\.json/),
    });
  });

  it('leaves no old secret in the keychain when it moves to the file', async () => {
    await bench.store.save(NAME, makeLogin(), storesFor('auto'));
    await bench.store.save(NAME, makeLogin(), storesFor('file'));
    expect(entry()).toBeUndefined();
  });

  it('reports what remains in the keychain if it moves to the file while the keychain is unavailable', async () => {
    await bench.store.save(NAME, makeLogin(), storesFor('auto'));
    bench.keychain.fault = 'no bus';
    await bench.store.save(NAME, makeLogin(), storesFor('file'));
    expect(bench.notices).toEqual([
      expect.stringMatching(
        /^warning: the keychain still has an old entry "github:source .*no bus$/,
      ),
    ]);
  });

  it('does not change another login', async () => {
    const [source, destination] = [makeLogin(), makeLogin()];
    await bench.store.save(NAME, source, storesFor('auto'));
    await bench.store.save('github:destination', destination, storesFor('file'));
    await bench.store.remove('github:destination');
    const stored = await bench.store.find(NAME);
    expect(stored && (await bench.store.secretsOf(NAME, stored))).toEqual(source.secrets);
  });
});

describe('removing a login', () => {
  it('removes its secret from the keychain', async () => {
    await bench.store.save(NAME, makeLogin(), storesFor('auto'));
    expect(await bench.store.remove(NAME)).toBe(true);
    expect(entry()).toBeUndefined();
    expect(await bench.store.remove(NAME)).toBe(false);
  });

  it('keeps the login when its secret cannot be removed', async () => {
    await bench.store.save(NAME, makeLogin(), storesFor('auto'));
    bench.keychain.fault = 'it is locked';
    await expect(bench.store.remove(NAME)).rejects.toThrow('it is locked');
    expect(await bench.store.find(NAME)).not.toBeNull();
  });
});

it.each([
  ['is missing', () => bench.keychain.entries.clear(), 'it has no entry for this login'],
  [
    'is not a login',
    () => bench.keychain.entries.set(keychainEntry(NAME, bench.folder), 'hunter-22'),
    'its entry for this login is not valid',
  ],
])('a keychain entry that %s is reported without its content', async (_how, damage, message) => {
  await bench.store.save(NAME, makeLogin(), storesFor('auto'));
  damage();
  const stored = await bench.store.find(NAME);
  if (stored === null) throw new Error('there is no login');
  await expect(bench.store.secretsOf(NAME, stored)).rejects.toThrow(message);
});
