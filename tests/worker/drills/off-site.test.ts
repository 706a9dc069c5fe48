import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { beforeEach, describe, expect, it } from 'vitest';
import { emptyLedger } from '../../support/drills.ts';
import { createBare, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { storeKinds, useStoreWorld } from '../../support/store-world.ts';
import { withIncrements } from '../../support/versioned-app.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

const database = useDatabase();

beforeEach(async () => {
  await emptyLedger(database.db);
  await database.db.query({
    text: 'TRUNCATE backup_runs, worker_repo_state, restore_drill_claims, archive_stores CASCADE',
  });
});

const drills = () =>
  rowsOf<{ storage: string; outcome: string; version: number | null; reason: string | null }>(
    database.db,
    'SELECT storage, outcome, version, reason FROM restore_drills ORDER BY restore_drills.id',
  );

describe.each(storeKinds)('a drill from %s', (_name, kind) => {
  const world = useStoreWorld(database, kind);
  const storage = () => world.address.replace(/\?.*/, '');

  const drill = (args: string[] = [], stores = world.address, env: Record<string, string> = {}) =>
    callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, folder: world.elsewhere },
      args: ['drill', '--all', ...args],
      env: { BACKUP_STORES: stores, BACKUP_NAMES_KEY: world.namesKey, ...env },
    });
  const leftovers = () => readdir(join(`${world.archives}-data`, 'drills'));

  it('restores from there and not from the archive folder', async () => {
    await world.storeFirst();
    await writeFile(join(world.archives, 'local__app.bundle'), 'lost');
    const { code, stdout } = await drill(world.withIdentity);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^proven/) });
    expect(await drills()).toEqual([
      { storage: storage(), outcome: 'proven', version: 1, reason: null },
    ]);
    expect(await leftovers()).toEqual([]);
  });

  it('fails when an object is damaged there, and keeps no download', async () => {
    await world.storeFirst();
    const objects = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    for (const { path } of objects) {
      const bytes = await readFile(path);
      await writeFile(path, bytes.fill(0x5a, 0, 20));
    }
    const { code, stdout, stderr } = await drill(world.withIdentity);
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^FAILED: local\/app, version 1 .* damaged in \S+: local__app\.\S+ \(\S+\).*; another version may be intact/,
      ),
    });
    // The message names the object that has to be moved away.
    const [, key] = / \((\S+)\)/.exec(stdout) ?? [];
    expect(objects.map((object) => object.key)).toContain(key);
    expect(await drills()).toMatchObject([{ outcome: 'failed', version: 1 }]);
    expect(stderr).not.toContain('is kept in');
    expect(await leftovers()).toEqual([]);
  });

  it('fails when the newest version is missing there, even if an older one is whole', async () => {
    await world.storeFirst();
    const before = new Set((await world.objects()).map(({ key }) => key));
    await world.app.commit({ 'b.txt': 'two' });
    await world.store();
    const states = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'state');
    for (const { key } of states) if (!before.has(key)) await world.lose(key);
    expect(await drill(world.withIdentity)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^FAILED: .* version 2 was stored there, but is no longer/),
    });
    expect(await drills()).toMatchObject([{ storage: storage(), outcome: 'failed', version: 1 }]);
  });

  it('is incomplete while the folder of a store does not exist', async () => {
    await world.storeFirst();
    const reason = 'there is no such folder: is it mounted?';
    expect(await drill([], `file://${world.elsewhere}/unmounted`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(reason),
    });
    expect(await drills()).toMatchObject([
      { outcome: 'incomplete', reason: expect.stringContaining(reason) },
    ]);
  });

  it('is incomplete if the store does not have the archive yet', async () => {
    await world.storeFirst();
    expect(await drill(world.withIdentity, world.other)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^incomplete: .*it is not stored there yet/),
    });
  });

  it('alternates between the stores', async () => {
    await world.storeFirst();
    const both = `${world.address},${world.other}`;
    await drill(world.withIdentity, both);
    await drill(world.withIdentity, both);
    await drill(world.withIdentity, both);
    expect((await drills()).map(({ outcome }) => outcome)).toEqual([
      'proven',
      'incomplete',
      'proven',
    ]);
  });

  it('returns to the store from which it failed until that store proves it', async () => {
    await world.storeFirst();
    const both = `${world.address},${world.other}`;
    const objects = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    for (const { key } of objects) await world.lose(key);
    for (let turn = 0; turn < 2; turn++) {
      expect(await drill(world.withIdentity, both)).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^FAILED/),
      });
    }
    expect(await drills()).toMatchObject([{ storage: storage() }, { storage: storage() }]);
  });

  it('proves nothing that this worker cannot decrypt', async () => {
    await world.storeFirst();
    const { code, stdout } = await drill();
    if (!kind.isEncrypted) expect(stdout).toMatch(/^proven/);
    else {
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^incomplete: .*no identity that decrypts it/),
      });
    }
    expect(await leftovers()).toEqual([]);
  });

  it('proves the archive folder on a machine that encrypts what it stores and cannot decrypt it', async () => {
    await world.storeFirst();
    const BACKUP_AGE_RECIPIENTS = await identityToRecipient(await generateIdentity());
    await drill([], world.address, { BACKUP_AGE_RECIPIENTS });
    expect(await drills()).toEqual([
      { storage: 'folder', outcome: 'proven', version: 1, reason: null },
    ]);
  });

  it('proves nothing from the archive folder while the failed drill of a store stands', async () => {
    await world.storeFirst();
    const objects = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    for (const { key } of objects) await world.lose(key);
    await drill(world.withIdentity);
    const BACKUP_AGE_RECIPIENTS = await identityToRecipient(await generateIdentity());
    const { stderr } = await drill([], world.address, { BACKUP_AGE_RECIPIENTS });
    expect(stderr).toContain(
      `local/app failed its drill from ${storage()}, which cannot be drilled`,
    );
    expect(await drills()).toMatchObject([{ storage: storage(), outcome: 'failed' }]);
  });
});

describe('a drill from an unreachable store', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });

  it('is incomplete', async () => {
    await world.storeFirst();
    const [base = ''] = world.address.split('endpoint=');
    const away = world.address.replace(/(endpoint=http:\/\/127\.0\.0\.1:)\d+/, '$11');
    expect(away.startsWith(base)).toBe(true);
    const { stdout } = await callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, args: ['drill', '--all'] },
      env: { BACKUP_STORES: away },
      clock: {
        now: () => Date.now(),
        sleep: (ms, signal) =>
          ms >= 30_000
            ? new Promise((_, reject) =>
                signal?.addEventListener('abort', () => reject(signal.reason)),
              )
            : Promise.resolve(),
      },
    });
    expect(stdout).toMatch(/^incomplete: local\/app from s3:/);
  });
});

describe('drills from a bucket that was removed', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });
  const storage = () => world.address.replace(/\?.*/, '');
  const drillAll = (stores: string) =>
    callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, args: ['drill', '--all'] },
      env: { BACKUP_STORES: stores },
    });
  const trackMore = () =>
    database.db.query({
      text: `INSERT INTO worker_repo_state (repo_full_name, archive_key)
        SELECT 'local/more-' || n, 'x.bundle' FROM generate_series(1, 2) AS n`,
    });
  const removeBucket = () => {
    const bucket = new URL(world.address).pathname.slice(1);
    world.server.fail(({ key }) =>
      key === '' || key.startsWith(bucket) ? { status: 404, code: 'NoSuchBucket' } : undefined,
    );
  };

  it('end after the first, with one reason', async () => {
    await world.storeFirst();
    await trackMore();
    removeBucket();
    const { code, stdout } = await drillAll(world.address);
    world.server.fail(null);
    expect(code).toBe(1);
    expect(stdout.match(/^incomplete: .*NoSuchBucket/gm)).toHaveLength(1);
    expect(stdout).toContain(`1 incomplete. Stopped: ${storage()} cannot be used.`);
    expect(await drills()).toMatchObject([
      { outcome: 'incomplete', reason: expect.stringContaining('NoSuchBucket') },
    ]);
  });

  it('fail the command even if there is only one repository', async () => {
    await world.storeFirst();
    removeBucket();
    const { code, stdout } = await drillAll(world.address);
    world.server.fail(null);
    expect(code).toBe(1);
    expect(stdout).toContain(`1 incomplete. Stopped: ${storage()} cannot be used.`);
  });

  it('continue from another store', async () => {
    await world.storeFirst();
    await trackMore();
    removeBucket();
    const nas = join(world.folder, 'nas');
    await mkdir(nas);
    const { code, stdout } = await drillAll(`${world.address},file://${nas}`);
    world.server.fail(null);
    expect(code).toBe(0);
    expect(stdout.match(/^incomplete: .*NoSuchBucket/gm)).toHaveLength(1);
    expect(stdout).toContain('Drilled 3 repositories: 0 proven, 0 failed, 3 incomplete.');
  });
});

describe('a drill from a store whose encryption was changed', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: true });
  const names = () => ({ BACKUP_NAMES_KEY: world.namesKey });

  /** Stores a new version, unencrypted or for other recipients. */
  async function storeWith(env: Record<string, string>): Promise<void> {
    await world.app.commit({ 'b.txt': 'two' });
    await world.backUp({ BACKUP_STORES: world.address, ...withIncrements, ...env });
  }
  const forOthers = async () => ({
    ...names(),
    BACKUP_AGE_RECIPIENTS: await identityToRecipient(await generateIdentity()),
  });
  const drill = (args: string[], env: Record<string, string> = names()) =>
    callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, folder: world.elsewhere },
      args: ['drill', '--all', ...args],
      env: { BACKUP_STORES: world.address, ...env },
    });
  const lastDrill = async () => (await drills()).at(-1);

  it.each([
    ['with the names key', names],
    ['without the names key', () => ({})],
  ])('is incomplete if the newest version is unencrypted and left out, %s', async (_name, call) => {
    const env = call();
    await world.store();
    await storeWith({});
    expect(await drill(world.withIdentity, env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^incomplete: .*version 2 is stored there unencrypted, so --identity leaves it out/,
      ),
    });
    expect(await lastDrill()).toMatchObject({ outcome: 'incomplete', version: 1 });
    expect((await drill([], env)).stdout).toMatch(/^proven: local\/app, version 2/);
  });

  it('fails if the newest version is missing, whichever older ones are left out', async () => {
    await storeWith({});
    await world.store();
    await world.app.commit({ 'c.txt': 'three' });
    await world.store();
    const objects = await world.objects();
    const states = objects.filter(({ key }) => key.endsWith('.json.age'));
    await world.lose(states.at(-1)?.key ?? '');
    expect((await drill(world.withIdentity)).stdout).toMatch(
      /^FAILED: .*version 2 was stored there, but is no longer/,
    );
  });

  it('is incomplete if the newest version is encrypted and there is no identity', async () => {
    await storeWith({});
    await storeWith(await forOthers());
    expect((await drill([], {})).stdout).toMatch(/^incomplete: .*no identity that decrypts it/);
    expect(await lastDrill()).toMatchObject({ outcome: 'incomplete' });
  });

  it('is incomplete if the newest version is encrypted for other recipients', async () => {
    await world.storeFirst();
    await storeWith(await forOthers());
    expect((await drill(world.withIdentity)).stdout).toMatch(
      /^incomplete: .*no identity that decrypts it/,
    );
  });

  it('fails if a file is damaged, even if other files are encrypted for other recipients', async () => {
    await storeWith(await forOthers());
    const before = new Set((await world.objects()).map(({ key }) => key));
    await world.app.commit({ 'c.txt': 'three' });
    await world.store();
    const added = (await world.objects()).filter(({ key }) => !before.has(key));
    for (const { parsed, path } of added) {
      if (parsed?.kind !== 'object') continue;
      const bytes = await readFile(path);
      await writeFile(path, bytes.fill(0x5a, bytes.length - 20));
    }
    expect((await drill(world.withIdentity)).stdout).toMatch(/^FAILED: .*missing or damaged/);
  });
});

describe('drills from a store that this worker cannot decrypt', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: true });

  it('end after the third, and report why', async () => {
    await world.storeFirst();
    // Four that the database believes to be in the store under secret names.
    await database.db.query({
      text: `INSERT INTO worker_repo_state (repo_full_name, archive_key)
        SELECT 'local/more-' || n, 'x.bundle' FROM generate_series(1, 4) AS n`,
    });
    const { code, stdout } = await callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, args: ['drill', '--all'] },
      env: { BACKUP_STORES: world.address, BACKUP_NAMES_KEY: world.namesKey },
    });
    expect(code).toBe(1);
    expect(stdout.match(/^incomplete: /gm)).toHaveLength(3);
    expect(stdout).toContain(`Stopped: ${world.address} cannot be used.`);
  });
});

describe('a drill from a git destination', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: false });

  it('restores from it in the layout `parts`', async () => {
    const destination = join(world.folder, 'destination.git');
    await createBare(destination);
    const env = { BACKUP_REPO_PATH: destination };
    await world.backUp(env);
    await writeFile(join(world.archives, 'local__app.bundle'), 'lost');
    const { stdout } = await callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, args: ['drill', '--all'], env },
    });
    expect(stdout).toMatch(/^proven: local\/app, version 1 from git\+file:/);
    expect(await drills()).toMatchObject([{ storage: `git+file://${destination}` }]);
  });

  it('stands as failed until a worker that is able to proves it, and is left out by others', async () => {
    const destination = join(world.folder, 'destination.git');
    await createBare(destination);
    const identity = await generateIdentity();
    await writeFile(join(world.elsewhere, 'other.txt'), `${identity}\n`);
    const env = {
      BACKUP_REPO_PATH: destination,
      BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity),
      BACKUP_NAMES_KEY: world.namesKey,
    };
    await world.backUp(env);
    const drill = (...args: string[]) =>
      callWorker({
        ...{ databaseUrl: database.url, archives: world.archives, folder: world.elsewhere, env },
        args: ['drill', '--all', ...args],
      });
    const able = () => drill('--identity', 'other.txt');
    const clone = join(world.folder, 'clone');
    await git(world.folder, 'clone', '--quiet', destination, clone);
    const commit = async (...change: string[]) => {
      await git(clone, ...change);
      const as = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
      await git(clone, ...as, 'commit', '--quiet', '-m', 'change');
      await git(clone, 'push', '--quiet', 'origin', 'HEAD');
    };
    await commit('rm', '-r', '--quiet', 'archives');
    expect((await able()).stdout).toMatch(/^FAILED: local\/app from git\+file:/);
    expect((await drill()).stderr).toContain(
      `local/app failed its drill from git+file://${destination}, which cannot be drilled here`,
    );
    await commit('checkout', 'HEAD~1', '--', 'archives');
    expect((await able()).stdout).toMatch(/^proven: local\/app, version 1 from git\+file:/);
    expect((await drill()).stdout).toMatch(/^proven: local\/app, version 1 from folder/);
    expect((await drills()).map(({ outcome }) => outcome)).toEqual(['failed', 'proven', 'proven']);
  });

  it('restores from the archive folder if its archives are at its root', async () => {
    const destination = join(world.folder, 'destination.git');
    await createBare(destination);
    await world.backUp({ BACKUP_REPO_PATH: destination, BACKUP_REPO_LAYOUT: 'files' });
    const { stdout } = await callWorker({
      ...{ databaseUrl: database.url, archives: world.archives, args: ['drill', '--all'] },
      env: { BACKUP_REPO_PATH: destination },
    });
    expect(stdout).toMatch(/^proven: local\/app, version 1 from folder/);
  });
});
