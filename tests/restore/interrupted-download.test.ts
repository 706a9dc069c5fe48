import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CutLine, startCutLine } from '../support/cut-line.ts';
import { useDatabase } from '../support/hooks.ts';
import { copyStored, useStoreWorld } from '../support/store-world.ts';
import { refsOf } from '../support/versioned-app.ts';

// A bucket behind a connection that cuts each download off after some bytes.

const database = useDatabase();

describe('downloading a large repository', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: true });
  let line: CutLine;
  beforeEach(async () => {
    line = await startCutLine(world.address);
    await world.app.commit({ noise: randomBytes(1_000_000).toString('hex') });
    await world.store();
  });
  afterEach(() => line.close());

  const restore = (signal?: AbortSignal) =>
    world.call(
      [
        'restore',
        '--from',
        line.address,
        ...world.withIdentity,
        'local/app',
        '--bare',
        '--to',
        'x',
      ],
      signal ? { signal } : {},
    );

  /** How the largest object was downloaded. */
  function largest() {
    const sizes = new Map<string, number>();
    for (const { key, bytes } of line.downloads) sizes.set(key, (sizes.get(key) ?? 0) + bytes);
    const [key] = [...sizes].sort(([, one], [, other]) => other - one)[0] ?? [''];
    return line.downloads.filter((one) => one.key === key);
  }

  it('resumes where a download was cut off', async () => {
    line.cutAfter = 300_000;
    expect((await restore()).code).toBe(0);
    expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(await refsOf(world.app.path));
    const parts = largest();
    expect(parts.length).toBeGreaterThan(2);
    // Each request begins where the last one ended, so that no byte is downloaded twice.
    for (const [index, { from }] of parts.entries()) {
      const before = parts.slice(0, index).reduce((sum, { bytes }) => sum + bytes, 0);
      expect(from).toBeLessThanOrEqual(before);
      expect(index === 0 || from > 0).toBe(true);
    }
  });

  it('resumes after the command was stopped, and keeps complete files', async () => {
    line.cutAfter = 300_000;
    const stop = new AbortController();
    let cuts = 0;
    line.onCut = () => {
      if (++cuts === 2) stop.abort(new Error('stopped'));
    };
    await expect(restore(stop.signal)).rejects.toThrow('stopped');
    expect(
      (await readdir(world.elsewhere)).filter((name) => name.startsWith('.download-')),
    ).toHaveLength(1);
    const before = largest();
    const complete = line.downloads
      .filter(({ key }) => key !== before[0]?.key)
      .map(({ key }) => key);
    expect(complete).not.toEqual([]);
    line.downloads = [];
    line.cutAfter = null;
    expect((await restore()).code).toBe(0);
    expect(line.downloads.map(({ key }) => key)).toEqual([before[0]?.key]);
    expect(line.downloads[0]?.from).toBeGreaterThan(0);
    expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(await refsOf(world.app.path));
    expect((await readdir(world.elsewhere)).sort()).toEqual(['identity.txt', 'x']);
  });

  it('shows its progress on a terminal', async () => {
    const args = ['restore', '--from', world.address, ...world.withIdentity, 'local/app'];
    const { stderr } = await world.call([...args, '--bare', '--to', 'x'], { isTerminal: true });
    expect(stderr).toMatch(/0\/2 local\/app: downloading, [\d.]+ [KM]iB of [\d.]+ MiB/);
    expect(stderr).toMatch(/2\/2 local\/app: downloading, ([\d.]+ MiB) of \1/);
  });

  it('names each file that the store refuses to return', async () => {
    await world.store();
    world.server.fail(({ key, method }) =>
      method === 'GET' && key.includes('/objects/')
        ? { status: 403, code: 'AccessDenied' }
        : undefined,
    );
    const args = [
      'restore',
      '--from',
      world.address,
      ...world.withIdentity,
      '--all',
      '--to',
      'all',
    ];
    const { code, stderr } = await world.call(args);
    expect(code).toBe(1);
    expect(stderr.match(/was refused: .*AccessDenied/g)).toHaveLength(2);
  });

  it('fails with the name of the store if nothing arrives at all', async () => {
    line.cutAfter = 0;
    await expect(restore()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining('s3://backups/'),
    });
  });
});

describe('restoring several repositories', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });

  async function storeFour() {
    await world.storeFirst();
    const object = (await world.objects()).at(-1);
    const archive = join((object?.path ?? '').replace(/\/archives\/.*/, ''), 'archives/local__app');
    for (const name of ['ap1', 'ap2', 'ap3']) {
      await copyStored(archive, archive.replace('app', name), `local/${name}`);
    }
  }

  it('lists and restores the others if the store refuses to return a state', async () => {
    await storeFour();
    world.server.fail(({ key, method }) =>
      method === 'GET' && key.endsWith('archives/local__ap2/states/00000001.json')
        ? { status: 403, code: 'AccessDenied' }
        : undefined,
    );
    const from = ['restore', '--from', world.address];
    const list = await world.call([...from, '--list']);
    expect(list).toMatchObject({ code: 1, stdout: expect.stringMatching(/^local\/ap3 +1 /m) });
    const said = 'archives/local__ap2/states/00000001.json was refused: ';
    expect(list.stderr).toMatch(new RegExp(`^left out: ${said}.*AccessDenied`, 'm'));
    const all = await world.call([...from, '--all', '--bare', '--to', 'all']);
    expect([all.code, all.stdout]).toEqual([1, expect.stringContaining('Restored 3 of 3')]);
    expect(all.stderr).toContain(`not restored: ${said}`);
    await expect(world.call([...from, 'local/ap2', '--to', 'x'])).rejects.toMatchObject({
      message: expect.stringContaining(said),
    });
  });

  it('does not wait for every repository if the store stays unreachable', async () => {
    await storeFour();
    const line = await startCutLine(world.address);
    line.cutAfter = 0;
    const args = ['restore', '--from', line.address, '--all', '--bare', '--to', 'all'];
    const away = await world.call(args);
    await line.close();
    expect(away.code).toBe(1);
    expect(away.stderr.match(/was not restored: s3:\/\/backups/g)).toHaveLength(3);
    expect(away.stderr).toContain('local/app was not restored: the store is unreachable\n');
    // Over a working connection, the same command then resumes.
    const later = await world.call(args.map((one) => (one === line.address ? world.address : one)));
    expect([later.code, later.stdout]).toEqual([0, expect.stringContaining('Restored 4 of 4')]);
  });
});
