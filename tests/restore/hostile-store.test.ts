import { chmod, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { copyFolder } from '../support/folders.ts';
import { useDatabase } from '../support/hooks.ts';
import { copyStored, useStoreWorld } from '../support/store-world.ts';
import { refsOf } from '../support/versioned-app.ts';

// Anyone who can write to a store can add archives of their own to it.

const database = useDatabase();

describe('restoring from a store with foreign archives', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: false });
  const restore = (...args: string[]) => world.call(['restore', '--from', world.address, ...args]);

  beforeEach(async () => {
    expect((await world.store()).code).toBe(0);
  });

  /** Copies the archive of local/app to another name, with a changed note. */
  async function plant(name: string, note: Record<string, unknown> = {}): Promise<void> {
    const root = join(new URL(world.address).pathname, 'archives');
    await copyStored(join(root, 'local__app'), join(root, name), name.replace('__', '/'), note);
  }

  it('lists and restores the other archives if one has an impossible time', async () => {
    await plant('eve__app', { versions: [], archive_modified_ms: Number.MAX_SAFE_INTEGER });
    const list = await restore('--list');
    expect(list).toMatchObject({ code: 1, stdout: expect.stringMatching(/^local\/app +1 /m) });
    expect(list.stderr).toMatch(
      /^left out: archives\/eve__app\/states\/\S+ has no readable note$/m,
    );
    const all = await restore('--all', '--bare', '--to', 'all');
    expect(all).toMatchObject({ code: 1, stdout: expect.stringContaining('Restored 1 of 1 ') });
  });

  it('creates no folder that git would take for a repository', async () => {
    for (const name of ['eve__.git', '.git__app', 'eve__git~1']) await plant(name);
    const { code, stdout, stderr } = await restore('--all', '--to', 'all');
    expect([code, stdout]).toEqual([1, expect.stringContaining('Restored 1 of 4 repositories')]);
    expect(stderr).toContain('eve/.git was not restored: git takes a folder of this name for its');
    expect(await readdir(join(world.elsewhere, 'all'))).toEqual(['local']);
    expect(await restore('eve/.git', '--to', 'alone')).toMatchObject({ code: 0 });
  });

  it('does not take a state for that of the repository that it names', async () => {
    const [state] = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'state');
    const path = state?.path ?? '';
    const text = JSON.parse(await readFile(path, 'utf8'));
    const forged = async (name: string, inNote: string) => {
      const note = JSON.stringify({ ...JSON.parse(text.note), repository: inNote });
      await writeFile(path, JSON.stringify({ ...text, repository: name, note }));
      const list = await restore('--list');
      expect(list.code).toBe(1);
      for (const one of ['\u001b', '\u202e']) {
        expect(`${list.stdout}${list.stderr}`).not.toContain(one);
      }
      expect(list.stderr).toContain('is of local__app.bundle, which is not the archive of');
      await expect(restore('local/app', '--to', 'app')).rejects.toThrow('is not the archive of');
    };
    await forged('eve/other', 'eve/other');
    await forged('local/app', 'eve/other');
    await forged('local/\u001b[31m\u202eapp', 'local/app');
    await forged('../../app', 'local/app');
  });

  it('does not restore the archive of another repository that was copied', async () => {
    const root = join(new URL(world.address).pathname, 'archives');
    await copyFolder(join(root, 'local__app'), join(root, 'eve__app'));
    const path = join(root, 'eve__app/states/00000001.json');
    const text = (await readFile(path, 'utf8')).replaceAll('local__app', 'eve__app');
    const { note, ...state } = JSON.parse(text);
    const { repository: _, ...others } = JSON.parse(note);
    await writeFile(
      path,
      JSON.stringify({ ...state, repository: 'eve/app', note: JSON.stringify(others) }),
    );
    await expect(restore('eve/app', '--to', 'x')).rejects.toThrow(
      'eve__app.bundle is the archive of local/app',
    );
    expect(await readdir(world.elsewhere)).not.toContain('x');
  });

  it('prints no names with bidirectional characters', async () => {
    await plant('eve__\u202egpj.exe');
    const { stdout, stderr } = await restore('--all', '--to', 'all');
    expect(stdout).toContain('Restored eve/gpj.exe, version 1');
    expect(`${stdout}${stderr}`).not.toContain('\u202e');
  });

  it('does not download into a folder that is a link', async () => {
    const [object] = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    await world.lose(object?.key ?? '');
    await expect(restore('local/app', '--to', 'app')).rejects.toMatchObject({ code: 'CONFLICT' });
    const [kept = ''] = (await readdir(world.elsewhere)).filter((name) => name.startsWith('.'));
    const path = join(world.elsewhere, kept);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    await rename(path, join(world.elsewhere, 'of-others'));
    await symlink('of-others', path);
    await expect(restore('local/app', '--to', 'app')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `${path} is not a folder of this user: remove it`,
    });
  });

  it('lets nobody else read what it downloads, even when it resumes', async () => {
    const [object] = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    await world.lose(object?.key ?? '');
    await expect(restore('local/app', '--to', 'app')).rejects.toMatchObject({ code: 'CONFLICT' });
    const [kept = ''] = (await readdir(world.elsewhere)).filter((name) => name.startsWith('.'));
    await chmod(join(world.elsewhere, kept), 0o777);
    await expect(restore('local/app', '--to', 'app')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await stat(join(world.elsewhere, kept))).mode & 0o777).toBe(0o700);
  });
});

describe('restoring from an encrypted store', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: true });

  it('ignores newer states that somebody added without encryption', async () => {
    await world.storeFirst();
    const before = await refsOf(world.app.path);
    await world.loseMachine();
    await world.app.commit({ 'a.txt': 'of somebody else' });
    expect((await world.backUp({ BACKUP_STORES: world.address })).code).toBe(0);
    const after = await refsOf(world.app.path);
    const env = { BACKUP_NAMES_KEY: world.namesKey };
    const restore = (to: string, what: string[], identity: string[]) =>
      world.call(['restore', '--from', world.address, ...identity, ...what, '--bare', '--to', to], {
        env: what.includes('--all') ? {} : env,
      });
    const said = 'local/app: unencrypted states are left out';
    const one = await restore('one', ['local/app'], world.withIdentity);
    const all = await restore('all', ['--all'], world.withIdentity);
    expect([one.code, one.stderr]).toEqual([0, expect.stringContaining(said)]);
    expect([all.code, all.stderr]).toEqual([0, expect.stringContaining(said)]);
    for (const target of ['one', 'all/local/app']) {
      expect(await refsOf(join(world.elsewhere, target))).toEqual(before);
    }
    const plain = await world.call(['restore', '--from', world.address, 'local/app', '--to', 'x']);
    expect(plain).toMatchObject({ code: 0, stderr: expect.not.stringContaining('left out') });
    expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(after);
  });
});
