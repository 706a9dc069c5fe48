import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordDiskRoom } from '../../../lib/records/recording/archive-disks.ts';
import { recordUsed } from '../../../lib/records/recording/stores.ts';
import { parseKey, stateKey } from '../../../lib/stores/base/layout.ts';
import { parseState } from '../../../lib/stores/base/store-state.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useS3Server } from '../../support/s3-server.ts';
import { runScript } from '../../support/script.ts';
import { useVersionedApp, withIncrements } from '../../support/versioned-app.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
const server = useS3Server();

const nas = () => join(world.folder, 'nas');
const onFolder = () => ({ BACKUP_STORES: `file://${nas()}` });
beforeEach(() => mkdir(nas()));

/** All files of a folder, without temporary ones. */
async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
const stored = () =>
  rowsOf(
    database.db,
    `SELECT store, version, reason, stored_at IS NOT NULL AS "isStored",
       failing_since IS NOT NULL AS "isFailing" FROM archive_stores
     WHERE store = 'file://${nas()}'`,
  );

describe('a run with a store', () => {
  it('stores each version once, with a state that lists all of it', async () => {
    const { stdout, stderr } = await world.backUp({ ...onFolder(), ...withIncrements });
    expect(stdout).toContain('1 backed up');
    expect(stderr).toContain(`stored in file://${nas()}`);
    const first = await filesOf(nas());
    expect(first.map((key) => parseKey(key)?.kind)).toEqual([
      undefined,
      'object',
      'object',
      'state',
    ]);
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    await world.backUp({ ...onFolder(), ...withIncrements });
    const second = await filesOf(nas());
    expect(second).toEqual(expect.arrayContaining(first));
    expect(second.length - first.length).toBe(3);
    const states = second.filter((key) => parseKey(key)?.kind === 'state');
    const state = parseState(await readFile(join(nas(), states.at(-1) ?? ''), 'utf8'));
    expect(state?.files.map(({ name }) => name)).toEqual([
      'local__app.bundle',
      'local__app.1.bundle',
      'local__app.versions/1.json',
      'local__app.versions/2.json',
    ]);
    for (const { name, key } of state?.files ?? []) {
      const [kept, sent] = await Promise.all([
        readFile(join(world.archives, name)),
        readFile(join(nas(), key)),
      ]);
      expect(sent.equals(kept)).toBe(true);
    }
    expect(await stored()).toEqual([
      { store: `file://${nas()}`, version: 2, reason: '', isStored: true, isFailing: false },
    ]);
    expect((await world.backUp({ ...onFolder(), ...withIncrements })).stdout).toContain(
      '1 unchanged',
    );
    expect(await filesOf(nas())).toEqual(second);
  });

  it('leaves an unchanged repository unchanged when a store is added', async () => {
    await world.backUpFirst();
    const { code, stdout, stderr } = await world.backUp(onFolder());
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 unchanged') });
    expect(stderr).toContain(`stored in file://${nas()}`);
    expect(await stored()).toMatchObject([{ version: 1, isStored: true }]);
    expect(await lastResults(database.db)).toEqual([]);
  });

  it('records which stores it has, also without any change of the repository', async () => {
    const unused = () =>
      rowsOf(database.db, 'SELECT unused_since IS NOT NULL AS "isUnused" FROM archive_stores');
    await world.backUp(onFolder());
    expect(await unused()).toEqual([{ isUnused: false }]);
    await world.backUp({});
    expect(await unused()).toEqual([{ isUnused: true }]);
    await world.backUp(onFolder());
    expect(await unused()).toEqual([{ isUnused: false }]);
    expect(await stored()).toMatchObject([{ version: 1, isStored: true }]);
  });

  it('counts a store while any machine that still backs up uses it', async () => {
    const { db } = database;
    const unused = async () =>
      (await rowsOf(db, 'SELECT unused_since IS NOT NULL AS "isUnused" FROM archive_stores'))[0];
    const use = (machine: string, stores: string[]) =>
      recordUsed(db, { repositories: ['LOCAL/app'], stores, machine }, null);
    await world.backUp(onFolder());
    await use('other', []);
    expect(await unused()).toEqual({ isUnused: false });
    await use('other', [`file://${nas()}`]);
    await recordDiskRoom(
      db,
      { machine: 'other', hostName: 'other', freeBytes: 1, totalBytes: 2 },
      Date.now(),
    );
    await world.backUp({});
    expect(await unused()).toEqual({ isUnused: false });
    await use('other', []);
    expect(await unused()).toEqual({ isUnused: true });
    await use('other', [`file://${nas()}`]);
    await db.query({
      text: "UPDATE archive_disks SET measured_at = now() - interval '8 days' WHERE machine = 'other'",
    });
    await world.backUp({});
    expect(await unused()).toEqual({ isUnused: true });
  });

  it('fails a repository that no store received, and catches up later', async () => {
    await rename(nas(), `${nas()}-away`);
    const { code, stdout } = await world.backUp(onFolder());
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('Failed, backed up, but not stored off-site: local/app'),
    });
    expect(await stored()).toMatchObject([{ version: null, isStored: false, isFailing: true }]);
    await rename(`${nas()}-away`, nas());
    const again = await world.backUp(onFolder());
    expect({ code: again.code, stdout: again.stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('1 backed up'),
    });
    expect(await stored()).toMatchObject([{ version: 1, isStored: true, isFailing: false }]);
  });

  it('counts a repository as backed up once enough stores have it', async () => {
    const stores = `file://${nas()},file://${world.folder}/nowhere`;
    expect((await world.backUp({ BACKUP_STORES: stores })).code).toBe(1);
    const { code, stderr } = await world.backUp({
      BACKUP_STORES: stores,
      BACKUP_STORES_NEEDED: '1',
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(/warn: not stored: file:.*nowhere: there is no such folder/);
  });

  it('stores again what the store lost', async () => {
    await world.backUpFirst(onFolder());
    const before = await filesOf(nas());
    const bundle = before.find((key) => parseKey(key)?.kind === 'object') ?? '';
    await rm(join(nas(), bundle));
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(0);
    expect(stderr).toContain(
      'lacks some of what was stored there, which is stored again once its repository is backed up: local__app.bundle',
    );
    expect(await filesOf(nas())).toEqual(expect.arrayContaining(before));
  });

  it('detects an object that differs from what was stored, and fails until it is repaired', async () => {
    await world.backUpFirst(onFolder());
    const objects = (await filesOf(nas())).filter((key) => parseKey(key)?.kind === 'object');
    for (const key of objects) {
      const bytes = await readFile(join(nas(), key));
      bytes.reverse();
      await writeFile(join(nas(), key), bytes);
    }
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(1);
    expect(stderr).toContain('is not what was stored there');
    expect(stderr).toContain('is damaged: remove it with credentials that allow it');
    expect((await world.backUp(onFolder())).code).toBe(1);
    for (const key of objects) await rm(join(nas(), key));
    const again = await world.backUp(onFolder());
    expect({ code: again.code, stdout: again.stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('1 backed up'),
    });
  });

  it('stores a state again if it differs from what was stored', async () => {
    await world.backUpFirst(onFolder());
    const pathOf = (number: number) => join(nas(), stateKey('local__app', number, false));
    const bytes = await readFile(pathOf(1));
    await writeFile(pathOf(1), Buffer.from(bytes).reverse());
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(0);
    expect(stderr).toContain(`${stateKey('local__app', 1, false)} is not what was stored there`);
    const again = parseState(await readFile(pathOf(2), 'utf8'));
    expect(again?.files).toEqual(parseState(bytes.toString())?.files);
  });

  it('does not fill an empty store that replaced the one it used', async () => {
    await world.backUpFirst(onFolder());
    await rename(nas(), `${nas()}-away`);
    await mkdir(nas());
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(1);
    expect(stderr).toContain('README.txt is missing, though archives were stored there');
    expect(await filesOf(nas())).toEqual([]);
  });

  it('keeps what another worker stored under the same name', async () => {
    await world.backUpFirst(onFolder());
    const before = await filesOf(nas());
    await rm(`${world.archives}-data`, { recursive: true });
    await rm(world.archives, { recursive: true });
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(0);
    expect(stderr).toContain('has a newer state of this archive than this machine knows');
    expect(await filesOf(nas())).toEqual(expect.arrayContaining(before));
  });

  it.each([
    ['an older one', (first: string) => first],
    ['something else', () => '{}'],
  ])('stores its newest state again if %s was put after it', async (_, forge) => {
    await world.backUpFirst(onFolder());
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    await world.backUp(onFolder());
    const pathOf = (number: number) => join(nas(), stateKey('local__app', number, false));
    await writeFile(pathOf(7), forge(await readFile(pathOf(1), 'utf8')));
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(0);
    expect(stderr).toContain(`stored again: ${stateKey('local__app', 7, false)}`);
    const newest = parseState(await readFile(pathOf(8), 'utf8'));
    expect(newest?.files).toEqual(parseState(await readFile(pathOf(2), 'utf8'))?.files);
    const before = await filesOf(nas());
    expect((await world.backUp(onFolder())).stdout).toContain('1 unchanged');
    expect(await filesOf(nas())).toEqual(before);
  });

  it("leaves another machine's newer state as it is, and numbers its own next state after it", async () => {
    await world.backUpFirst(onFolder());
    const pathOf = (number: number) => join(nas(), stateKey('local__app', number, false));
    await writeFile(pathOf(7), await readFile(pathOf(1)));
    expect((await world.backUp(onFolder())).stdout).toContain('1 unchanged');
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    await world.backUp(onFolder());
    const states = (await filesOf(nas())).filter((key) => parseKey(key)?.kind === 'state');
    expect(states.at(-1)).toBe(stateKey('local__app', 8, false));
  });

  it('refuses an archive that differs from the recorded one', async () => {
    await world.backUpFirst();
    const path = join(world.archives, 'local__app.versions', '1.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('main', 'nain'));
    const { code, stderr } = await world.backUp(onFolder());
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /a file has changed|differs from the one that was sent|cannot be restored/,
    );
    const keys = (await filesOf(nas())).map((key) => parseKey(key)?.kind);
    expect(keys).not.toContain('state');
  });
});

describe('a bucket', () => {
  it('gets three requests for a new archive and none for an unchanged one', async () => {
    const env = { BACKUP_STORES: server.address('requests', '&private=yes') };
    await world.backUp(env);
    const isOfArchive = ({ key }: { key: string }) => key.includes('/archives/');
    expect(server.takeRequests().filter(isOfArchive)).toHaveLength(3);
    await world.backUp(env);
    // The check of a run reads two objects and a state of any archive.
    const asked = server.takeRequests().filter(isOfArchive);
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
  });

  it('gets no unencrypted private repository unless it is declared private', async () => {
    const { code, stderr } = await world.backUp({ BACKUP_STORES: server.address('public') });
    expect(code).toBe(1);
    expect(stderr).toContain('a private repository is stored only if it is encrypted');
    const writes = server.takeRequests().filter(({ method }) => method !== 'GET');
    expect(writes).toEqual([]);
  });
});

it.each([
  ['ahead', 20],
  ['behind', -20],
])(
  'a worker whose clock is 20 minutes %s stores a large archive, and restores it',
  async (name, minutes) => {
    const other = await createRepository(join(world.folder, name));
    // Uploaded in parts.
    await other.commit({ noise: randomBytes(10 * 2 ** 20).toString('hex') });
    const address = server.address(name, '&private=yes');
    const work = (...args: string[]) =>
      runScript('worker', {
        args,
        cwd: world.folder,
        env: {
          ...server.env,
          DATABASE_URL: database.url,
          BACKUP_STORES: address,
          CLOCK_AHEAD_MINUTES: `${minutes}`,
          NODE_OPTIONS: `--import=${join(import.meta.dirname, 'wrong-clock.ts')}`,
        },
      });
    const { code, stdout, stderr } = await work('run', '--source', other.path);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('stored in s3://'),
    });
    expect(stdout).toContain('1 backed up');
    expect(server.takeRequests().some(({ query }) => query.has('partNumber'))).toBe(true);
    const restored = await work('restore', '--from', address, `local/${name}`, '--to', 'restored');
    expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining('downloading') });
  },
);

describe('encryption', () => {
  const namesKey = 'a key for names, of more than 32 characters';

  it('hides names and contents from anyone without an identity', async () => {
    const identity = await generateIdentity();
    const env = {
      ...onFolder(),
      BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity),
      BACKUP_NAMES_KEY: namesKey,
    };
    expect((await world.backUp(env)).code).toBe(0);
    const files = await filesOf(nas());
    expect(files.join('\n')).not.toMatch(/app|local/);
    const keys = files.flatMap((file) => parseKey(file) ?? []);
    expect(keys.map(({ kind, isEncrypted }) => ({ kind, isEncrypted }))).toEqual([
      { kind: 'object', isEncrypted: true },
      { kind: 'object', isEncrypted: true },
      { kind: 'state', isEncrypted: true },
    ]);
    for (const file of files.filter((name) => name.endsWith('.age'))) {
      const text = (await readFile(join(nas(), file))).toString('latin1');
      expect(text).toMatch(/^age-encryption\.org\/v1\n/);
      expect(text).not.toMatch(/local|bundle|refs\//);
    }
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    const sealed = await readFile(join(nas(), files.find((file) => file.includes('states')) ?? ''));
    const state = parseState(Buffer.from(await decrypter.decrypt(sealed)).toString());
    expect(state).toMatchObject({ repository: 'local/app', archive: 'local__app.bundle' });
    for (const { name, key } of state?.files ?? []) {
      const bytes = await decrypter.decrypt(await readFile(join(nas(), key)));
      expect(Buffer.from(bytes).equals(await readFile(join(world.archives, name)))).toBe(true);
    }
    expect((await world.backUp(env)).stdout).toContain('1 unchanged');
    expect(await filesOf(nas())).toEqual(files);
  });

  it('starts each archive over when it is turned on or off, so that every state can be restored', async () => {
    const encrypted = {
      ...{ ...onFolder(), ...withIncrements, BACKUP_NAMES_KEY: namesKey },
      BACKUP_AGE_RECIPIENTS: await identityToRecipient(await generateIdentity()),
    };
    const plain = { ...onFolder(), ...withIncrements };
    for (const [version, env] of [plain, encrypted, plain].entries()) {
      await world.app.commit({ 'b.txt': `version ${version}` });
      await world.backUp(env);
    }
    const files = await filesOf(nas());
    const states = files.filter((key) => parseKey(key)?.kind === 'state');
    expect(states).toEqual([
      expect.stringMatching(/^archives\/[0-9a-f]{40}\/states\/00000001\.json\.age$/),
      'archives/local__app/states/00000001.json',
      'archives/local__app/states/00000002.json',
    ]);
    const state = parseState(await readFile(join(nas(), states[2] ?? ''), 'utf8'));
    expect(state?.files.map(({ key }) => key)).toEqual(
      state?.files.map(({ sha256 }) => `archives/local__app/objects/${sha256}`),
    );
    expect(state?.files).toHaveLength(6);
    expect((await world.backUp(encrypted)).stderr).toContain('stored in');
    expect((await world.backUp(encrypted)).stdout).toContain('1 unchanged');
  });

  it('stores its newest state again if an earlier one is put back, and warns about unreadable states', async () => {
    const env = {
      ...onFolder(),
      BACKUP_AGE_RECIPIENTS: await identityToRecipient(await generateIdentity()),
      BACKUP_NAMES_KEY: namesKey,
    };
    await world.backUp(env);
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    await world.backUp(env);
    const states = async () =>
      (await filesOf(nas())).filter((key) => parseKey(key)?.kind === 'state').sort();
    const [first = '', second = ''] = await states();
    const named = (number: number) => first.replace('00000001', `0000000${number}`);

    // A snapshot of the bucket from before the second run.
    await rm(join(nas(), second));
    expect((await world.backUp(env)).stderr).toContain('lacks some of what was stored there');
    expect(await states()).toEqual([first, named(3)]);

    await writeFile(join(nas(), named(5)), await readFile(join(nas(), first)));
    const replayed = await world.backUp(env);
    expect(replayed.stderr).toContain(`which is stored again: ${named(5)}`);
    expect(await states()).toEqual([first, named(3), named(5), named(6)]);

    await writeFile(join(nas(), named(8)), randomBytes(900));
    const { code, stderr } = await world.backUp(env);
    expect(code).toBe(0);
    expect(stderr).toContain(`did not store and cannot read: ${named(8)}`);
    const again = await world.backUp(env);
    expect(again.stdout).toContain('1 unchanged');
    expect(again.stderr).not.toContain('cannot read');
  });

  it('is refused without a names key, and with an invalid recipient', async () => {
    const recipient = await identityToRecipient(await generateIdentity());
    await expect(
      world.backUp({ ...onFolder(), BACKUP_AGE_RECIPIENTS: recipient }),
    ).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /failed: BACKUP_NAMES_KEY is required with BACKUP_AGE_RECIPIENTS\n$/,
      ),
      stdout: expect.not.stringContaining('unexpectedly'),
    });
    const wrong = { BACKUP_AGE_RECIPIENTS: `${recipient}q`, BACKUP_NAMES_KEY: namesKey };
    await expect(world.backUp({ ...onFolder(), ...wrong })).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('BACKUP_AGE_RECIPIENTS has a recipient that is not valid'),
    });
    expect(await filesOf(nas())).toEqual([]);
  });
});
