import { cpSync } from 'node:fs';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../lib/clock.ts';
import { flipByte } from '../../support/chains.ts';
import { useDatabase } from '../../support/hooks.ts';
import { prepareOnce } from '../../support/prepare-once.ts';
import { storeKinds, useStoreWorld } from '../../support/store-world.ts';
import { refsOf } from '../../support/versioned-app.ts';

const database = useDatabase();
const DAY_MS = 24 * 60 * 60_000;

/** A clock some days ahead, so that what was just stored is old. */
const inDays = (days: number): Clock => ({
  now: () => Date.now() + days * DAY_MS,
  sleep: async () => undefined,
});

describe.each(storeKinds)('with %s, store', (_, kind) => {
  const world = useStoreWorld(database, kind);
  const check = (...args: string[]) =>
    world.call(['store', 'check', '--store', world.address, ...world.withIdentity, ...args]);
  const prune = (...args: string[]) =>
    world.call(['store', 'prune', '--store', world.address, ...world.withIdentity, ...args], {
      clock: inDays(40),
    });
  const keys = async (what: 'state' | 'object') =>
    (await world.objects()).filter(({ parsed }) => parsed?.kind === what);
  /** Two states of one archive. */
  const storeTwice = prepareOnce(world, database, async () => {
    await world.storeFirst();
    await world.app.commit({ 'b.txt': 'more' });
    await world.store();
  });
  /** Two states, the newest of which needs nothing from the first. */
  const storeAnew = prepareOnce(world, database, async () => {
    await world.storeFirst();
    await world.loseMachine();
    await world.app.commit({ 'b.txt': 'after the loss' });
    await world.store();
  });

  it('check finds nothing wrong, and reads everything with --deep', async () => {
    await storeTwice();
    const { code, stdout } = await check();
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /: 1 archive, 2 states, 4 objects of [\d.]+ KiB: everything is there by name and size \(--deep reads it\)\n$/,
    );
    world.server.takeRequests();
    const deep = await check('--deep', '--repo', 'Local/App');
    expect(deep.code).toBe(0);
    expect(deep.stdout).toContain('4 objects of ');
    expect(deep.stdout).toContain(', each of them read: everything is there\n');
    if (kind.place === 'bucket') {
      const read = world.server.takeRequests().filter(({ method }) => method === 'GET');
      const objects = new Set(
        read.map(({ key }) => key).filter((key) => key.includes('/objects/')),
      );
      expect(objects.size).toBe(4);
    }
  });

  it('check names each fault and exits with 1', async () => {
    await storeTwice();
    await world.app.commit({ 'c.txt': 'more still' });
    await world.store();
    const objects = await keys('object');
    const states = await keys('state');
    const [lost, short] = objects;
    await world.lose(lost?.key ?? '');
    await truncate(short?.path ?? '', 20);
    await world.lose(states[1]?.key ?? '');
    const { code, stdout } = await check();
    expect(code).toBe(1);
    expect(stdout.match(/: fault: /g)).toHaveLength(3);
    expect(stdout).toContain(`fault: ${lost?.key} is missing`);
    expect(stdout).toMatch(`fault: ${short?.key} has 20 of the `);
    expect(stdout).toContain(`fault: state 2, which comes before ${states[2]?.key}, is missing`);
    expect(stdout).toMatch(/: 3 faults/);
  });

  it('check --deep detects changed bytes of the same size, without an identity', async () => {
    await world.storeFirst();
    const [flipped] = await keys('object');
    await flipByte(flipped?.path ?? '');
    expect((await check()).code).toBe(0);
    const { code, stdout } = await check('--deep');
    expect(code).toBe(1);
    expect(stdout).toContain(`fault: ${flipped?.key} has other content than was stored`);
  });

  it('check --deep tells of a damaged object that no state needs, which is no fault', async () => {
    if (kind.place !== 'folder') return;
    await world.storeFirst();
    const [needed] = await keys('object');
    const path = needed?.path ?? '';
    await writeFile(path.replace(/[0-9a-f]{64}(?=(?:\.age)?$)/, 'a'.repeat(64)), 'spoilt');
    const { code, stdout } = await check('--deep');
    expect(stdout).toMatch(/a{64}(?:\.age)? is damaged, but no state needs it: `store prune`/);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        ', each of them read: everything is there; no state needs 1 object of ',
      ),
    });
  });

  it('check --deep with an identity detects an object that holds a different file than its state says', async () => {
    if (!kind.isEncrypted) return;
    await world.store();
    const [state] = await keys('state');
    const file = await readFile(join(world.elsewhere, 'identity.txt'), 'utf8');
    const [identity = ''] = /^AGE-SECRET-KEY-.*$/m.exec(file) ?? [];
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    const text = await decrypter.decrypt(await readFile(state?.path ?? ''), 'text');
    const { files, ...rest } = JSON.parse(text);
    const [one, other] = files;
    const places = [one, other].map(({ key, stored_bytes }) => ({ key, stored_bytes }));
    const swapped = {
      ...rest,
      files: [
        { ...one, ...places[1] },
        { ...other, ...places[0] },
      ],
    };
    const encrypter = new Encrypter();
    encrypter.addRecipient(await identityToRecipient(identity));
    await writeFile(state?.path ?? '', await encrypter.encrypt(JSON.stringify(swapped)));
    expect((await check()).code).toBe(0);
    const { code, stdout } = await check('--deep');
    expect(code).toBe(1);
    expect(stdout).toContain(`fault: ${one.key} holds another file: its SHA-256 is `);
    expect(stdout).toMatch(/: 2 faults/);
  });

  it('check detects a damaged state', async () => {
    await world.storeFirst();
    const [state] = await keys('state');
    await writeFile(state?.path ?? '', '{"format":1}');
    const { code, stdout } = await check();
    expect(code).toBe(1);
    expect(stdout).toContain(`fault: ${state?.key} `);
  });

  it('check expects objects to have the sizes in each state', async () => {
    if (kind.isEncrypted) return;
    await storeTwice();
    const [first] = await keys('state');
    const text = await readFile(first?.path ?? '', 'utf8');
    await writeFile(
      first?.path ?? '',
      text.replaceAll(/"stored_bytes": \d+/g, '"stored_bytes": 1'),
    );
    const { code, stdout } = await check();
    expect(code).toBe(1);
    expect(stdout).toMatch(/fault: archives\/\S+ has \d+ of the 1 bytes it must have/);
  });

  it('check detects a newest state whose version is older than that of another state', async () => {
    await storeTwice();
    const [first, second] = await keys('state');
    const key = second?.key.replace('00000002', '00000003') ?? '';
    await world.forge(key, first?.key ?? '');
    const { code, stdout } = await check();
    expect(code).toBe(1);
    expect(stdout).toContain(
      `fault: ${key} is the newest state, but ${second?.key} has a newer version`,
    );
  });

  it('check detects that something this machine stored no longer exists', async () => {
    await storeTwice();
    const here = (...args: string[]) =>
      world.call(['store', 'check', '--store', world.address, ...args], {
        env: { DATA_DIR: `${world.archives}-data` },
      });
    expect((await here('--deep')).code).toBe(0);
    const [, second] = await keys('state');
    await flipByte(second?.path ?? '');
    expect((await here('--deep')).stdout).toContain(
      `fault: ${second?.key} has other content than was stored`,
    );
    await world.lose(second?.key ?? '');
    expect((await here()).stdout).toContain(
      `fault: ${second?.key}, which this machine stored, is missing`,
    );
    for (const { key, parsed } of await world.objects()) if (parsed !== null) await world.lose(key);
    const { code, stdout } = await here();
    expect(code).toBe(1);
    expect(stdout).toMatch(/fault: archives\/\w+, which this machine stored, is missing/);
  });

  it('check on another machine detects that an archive lost all its states, or the store everything', async () => {
    await storeTwice();
    for (const { key } of await keys('state')) await world.lose(key);
    const stateless = await check();
    expect(stateless.code).toBe(1);
    expect(stateless.stdout).toMatch(
      /fault: archives\/\w+ has 4 objects and no state, .* either its first upload has not finished, .* or its states were lost\n/,
    );
    for (const { key } of await keys('object')) await world.lose(key);
    const empty = await check();
    expect([empty.code, empty.stdout]).toEqual([
      1,
      expect.stringContaining('fault: it has no archive: nothing was stored there yet'),
    ]);
  });

  it('copy copies everything once, without an identity, and then only what was added', async () => {
    await storeTwice();
    const copy = () => world.call(['store', 'copy', world.address, world.other]);
    const first = await copy();
    expect(first.code).toBe(0);
    // Objects, states and the README.
    expect(first.stdout).toMatch(
      /: copied 7 objects of \S+ KiB, 0 were already there: everything is there now\n$/,
    );
    expect((await copy()).stdout).toMatch(/: copied 0 objects of 0 B, 6 were already there/);
    await world.app.commit({ 'c.txt': 'more still' });
    await world.store();
    expect((await copy()).stdout).toMatch(/: copied 3 objects of /);
    const restored = await world.call([
      ...['restore', '--from', world.other, ...world.withIdentity, 'local/app'],
      ...['--bare', '--to', 'x'],
    ]);
    expect(restored.code).toBe(0);
    expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(await refsOf(world.app.path));
    const checked = ['store', 'check', '--store', world.other, ...world.withIdentity, '--deep'];
    expect((await world.call(checked)).code).toBe(0);
  });

  it('copy needs the declaration of a private bucket only for unencrypted archives', async () => {
    await world.storeFirst();
    const undeclared = world.server.address('undeclared');
    const { code, stdout } = await world.call(['store', 'copy', world.address, undeclared]);
    expect(code).toBe(kind.isEncrypted ? 0 : 1);
    expect(stdout.includes('is not encrypted and may be of a private repository')).toBe(
      !kind.isEncrypted,
    );
    const list = ['restore', '--from', undeclared, ...world.withIdentity, '--list'];
    expect((await world.call(list)).code).toBe(kind.isEncrypted ? 0 : 1);
  });

  it('copy skips a state whose objects it could not copy', async () => {
    await world.storeFirst();
    const [flipped] = await keys('object');
    await flipByte(flipped?.path ?? '');
    const { code, stdout } = await world.call(['store', 'copy', world.address, world.other]);
    expect(code).toBe(1);
    expect(stdout).toContain(`fault: ${flipped?.key} has other content than was stored`);
    expect(stdout).toContain('the states of archives/');
    const list = await world.call([
      'restore',
      '--from',
      world.other,
      ...world.withIdentity,
      '--list',
    ]);
    expect([list.code, list.stdout]).toEqual([
      1,
      expect.stringContaining('There is nothing to restore'),
    ]);
  });

  it('prune removes what only old states need, but only with --yes', async () => {
    await storeAnew();
    const before = (await world.objects()).map(({ key }) => key);
    const dry = await prune('--older-than', '30');
    expect(dry.code).toBe(0);
    expect(dry.stdout).toMatch(/: 1 state and \d objects? of \S+ KiB would be removed: give --yes/);
    expect((await world.objects()).map(({ key }) => key)).toEqual(before);
    const done = await prune('--older-than', '30', '--yes');
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/: 1 state and \d objects? of \S+ KiB removed\n$/);
    expect((await keys('state')).map(({ parsed }) => parsed)).toMatchObject([{ number: 2 }]);
    const { code, stdout } = await check('--deep');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/everything is there\n$/)]);
    expect((await prune('--older-than', '30', '--yes')).stdout).toContain('nothing to remove');
    await world.call([
      ...['restore', '--from', world.address, ...world.withIdentity, 'local/app'],
      ...['--bare', '--to', 'x'],
    ]);
    expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(await refsOf(world.app.path));
    // The next run stores on top of it.
    await world.app.commit({ 'd.txt': 'next' });
    expect((await world.store()).code).toBe(0);
    expect((await check()).code).toBe(0);
  });

  it('prune keeps young states and objects', async () => {
    await storeAnew();
    const before = (await world.objects()).map(({ key }) => key);
    expect((await prune('--older-than', '50', '--yes')).stdout).toContain('nothing to remove');
    expect((await world.objects()).map(({ key }) => key)).toEqual(before);
  });

  it('prune removes nothing from an archive with an unreadable state', async () => {
    await storeAnew();
    const before = await keys('object');
    const [, newest] = await keys('state');
    await writeFile(newest?.path ?? '', 'damaged');
    const { code, stdout } = await prune('--older-than', '30', '--yes');
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('nothing is removed from archives/'),
    ]);
    expect(await keys('object')).toEqual(before);
  });
});

describe('with an encrypted store but no identity, store', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: true });

  it('check compares the store with what this machine stored', async () => {
    await world.storeFirst();
    const here = (...args: string[]) =>
      world.call(['store', 'check', ...args], {
        env: { BACKUP_STORES: world.address, DATA_DIR: `${world.archives}-data` },
      });
    const good = await here();
    expect([good.code, good.stdout]).toEqual([
      0,
      expect.stringMatching(/everything is there by name/),
    ]);
    const [lost] = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    await world.lose(lost?.key ?? '');
    const bad = await here();
    expect([bad.code, bad.stdout]).toEqual([
      1,
      expect.stringContaining(`fault: ${lost?.key} is missing`),
    ]);
  });

  it('check fails on another machine, which cannot know what must be there', async () => {
    await world.storeFirst();
    const { code, stdout } = await world.call(['store', 'check', '--store', world.address]);
    expect([code, stdout]).toEqual([1, expect.stringContaining('give --identity')]);
  });

  it('prune removes nothing', async () => {
    await world.storeFirst();
    const before = await world.objects();
    const args = ['store', 'prune', '--store', world.address, '--older-than', '30', '--yes'];
    const { code, stdout } = await world.call(args, { clock: inDays(40) });
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('nothing is removed from archives/'),
    ]);
    expect(await world.objects()).toEqual(before);
  });
});

describe('with a bucket that is being written to, store', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });

  it('prune skips an archive to which a state was just added', async () => {
    await world.storeFirst();
    await world.loseMachine();
    await world.app.commit({ 'b.txt': 'after the loss' });
    await world.store();
    const before = await world.objects();
    const state = before.at(-1)?.path ?? '';
    // The last listing before anything is removed.
    world.server.fail(({ query }) => {
      if (query.get('start-after')?.endsWith('/states/00000002.json')) {
        for (const part of ['object', 'metadata.json']) {
          const from = state.replace(/object$/, part);
          cpSync(from, from.replace('00000002', '00000003'));
        }
      }
      return undefined;
    });
    const args = ['store', 'prune', '--store', world.address, '--older-than', '30', '--yes'];
    const { code, stdout } = await world.call(args, { clock: inDays(40) });
    expect([code, stdout]).toEqual([0, expect.stringContaining('00000003.json was just added\n')]);
    expect(stdout).toContain('nothing to remove');
    expect((await world.objects()).length).toBe(before.length + 1);
  });
});

describe.each([
  ['refuses to delete and to overwrite', ''],
  ['refuses that and knows no conditional writes', '&conditional=no'],
])('with a bucket that %s, store', (_, parameters) => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });

  it('gets each version, and prune says which credentials it needs', async () => {
    const address = `${world.address}${parameters}`;
    const backUp = () => world.backUp({ BACKUP_STORES: address });
    const refused: string[] = [];
    world.server.fail(({ method, key, headers }) => {
      const isWrite = method === 'PUT' || method === 'POST';
      const isOverwriting = isWrite && headers['if-none-match'] === undefined;
      if (method !== 'DELETE' && !(isOverwriting && world.server.has(key))) return undefined;
      refused.push(method);
      return { status: 403, code: 'AccessDenied' };
    });
    expect((await backUp()).code).toBe(0);
    await world.app.commit({ 'b.txt': 'more' });
    expect((await backUp()).code).toBe(0);
    await world.loseMachine();
    await world.app.commit({ 'b.txt': 'after the loss' });
    expect((await backUp()).code).toBe(0);
    expect(refused).toEqual([]);
    const before = await world.objects();
    expect(before.filter(({ parsed }) => parsed?.kind === 'state')).toHaveLength(3);
    const args = ['store', 'prune', '--store', address, '--older-than', '30', '--yes'];
    const { code, stdout } = await world.call(args, { clock: inDays(40) });
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('pruning needs credentials that allow deletion (s3:DeleteObject)'),
    ]);
    expect(refused).toEqual(['DELETE']);
    expect(await world.objects()).toEqual(before);
    expect((await world.call(['store', 'check', '--store', address, '--deep'])).code).toBe(0);
  });
});

describe('with a folder, store', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: false });

  it('check names keys that are not part of a backup, and counts objects that no state needs', async () => {
    await world.storeFirst();
    const root = new URL(world.address).pathname;
    await writeFile(join(root, 'holiday.jpg'), '');
    const sha256 = 'a'.repeat(64);
    await writeFile(join(root, `archives/local__app/objects/${sha256}`), 'left over');
    const { code, stdout } = await world.call(['store', 'check', '--store', world.address]);
    expect(code).toBe(0);
    expect(stdout).toContain('not part of a backup: holiday.jpg\n');
    expect(stdout).toContain(
      '--deep reads it); no state needs 1 object of 9 B, see `store prune`\n',
    );
    // The next pruning removes the leftovers of an upload, and keeps the foreign file.
    const args = ['store', 'prune', '--store', world.address, '--older-than', '30', '--yes'];
    const pruned = await world.call(args, { clock: inDays(40) });
    expect(pruned.stdout).toContain('0 states and 1 object of 9 B removed');
    const after = await world.call(['store', 'check', '--store', world.address]);
    expect(after.stdout).toContain('holiday.jpg');
    expect(after.stdout).toMatch(/everything is there by name and size \(--deep reads it\)\n$/);
  });

  it('check and copy leave out other archives with --repo', async () => {
    await world.storeFirst();
    const states = join(new URL(world.address).pathname, 'archives/local__other/states');
    await mkdir(states, { recursive: true });
    await writeFile(join(states, '00000001.json'), 'damaged');
    const check = ['store', 'check', '--store', world.address];
    expect((await world.call(check)).code).toBe(1);
    const { code, stdout } = await world.call([...check, '--repo', 'local/app']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(': 1 archive, 1 state, ')]);
    const copy = ['store', 'copy', world.address, world.other, '--repo', 'local/app'];
    expect((await world.call(copy)).code).toBe(0);
    const root = new URL(world.other).pathname;
    expect(await readdir(join(root, 'archives'))).toEqual(['local__app']);
    await expect(world.call([...copy.slice(0, -1), 'local/none'])).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('check names a state whose list of files contradicts its note', async () => {
    await world.storeFirst();
    const state = (await world.objects()).find(({ parsed }) => parsed?.kind === 'state');
    const { files, ...rest } = JSON.parse(await readFile(state?.path ?? '', 'utf8'));
    const [bundle, manifest] = files;
    const wrong = { ...bundle, name: manifest.name };
    await writeFile(state?.path ?? '', JSON.stringify({ ...rest, files: [bundle, wrong] }));
    const { code, stdout } = await world.call(['store', 'check', '--store', world.address]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('does not list local__app.versions/1.json as its note does'),
    ]);
  });

  it('prune removes nothing if an object of the newest state is missing', async () => {
    await world.storeFirst();
    await world.loseMachine();
    await world.app.commit({ 'b.txt': 'after the loss' });
    await world.store();
    const { archive_sha256: sha256 } = await world.readNote();
    await world.lose(`archives/local__app/objects/${sha256}`);
    const before = await world.objects();
    const args = ['store', 'prune', '--store', world.address, '--older-than', '30', '--yes'];
    const { code, stdout } = await world.call(args, { clock: inDays(40) });
    expect(code).toBe(1);
    expect(stdout).toContain(`${sha256}, which its newest state needs, is missing`);
    expect(await world.objects()).toEqual(before);
  });

  it('copy replaces nothing if two machines stored different states', async () => {
    await world.storeFirst();
    await world.call(['store', 'copy', world.address, world.other]);
    const root = new URL(world.other).pathname;
    const state = join(root, 'archives/local__app/states/00000001.json');
    await writeFile(state, 'of another machine');
    const { code, stdout } = await world.call(['store', 'copy', world.address, world.other]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining(
        '00000001.json already exists with different content, and is not replaced',
      ),
    ]);
  });

  it('check reports that a store is unreachable, or that it may be the wrong one', async () => {
    await world.storeFirst();
    await world.lose('README.txt');
    const lost = await world.call(['store', 'check', '--store', world.address]);
    expect([lost.code, lost.stdout]).toEqual([
      1,
      expect.stringContaining('fault: README.txt is missing: is it the right store?'),
    ]);
    const none = await world.call(['store', 'check', '--store', `${world.address}-none`]);
    expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('is it mounted?')]);
  });

  it.each([
    [['check'], 'no store is named'],
    [['prune', '--store', 'file:///x'], '--older-than'],
    [['prune', '--store', 'file:///x', '--older-than', '0'], 'at least 1'],
    [
      ['prune', '--store', 'file:///x', '--older-than', '9', '--yes', '--dry-run'],
      'cannot be used',
    ],
    [['check', '--store', 'ftp://host/x'], 'must be like s3://bucket/prefix'],
    [['copy', 'file:///x'], "missing required argument 'to'"],
    [['check', '--repo', 'app'], '--repo must be owner/name'],
  ])('rejects %j as wrong usage', async (args, fault) => {
    await expect(world.call(['store', ...args])).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringContaining(fault),
    });
  });
});
