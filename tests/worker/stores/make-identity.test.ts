import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decrypter, Encrypter } from 'age-encryption';
import { expect, it } from 'vitest';
import { readIdentities } from '../../../lib/stores/reading/identities.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { git } from '../../support/git.ts';
import { runScript } from '../../support/script.ts';

const folder = useTemporaryFolder();
const make = (...args: string[]) =>
  runScript('worker', {
    args: ['store', 'identity', ...args],
    cwd: folder,
    env: { BACKUP_CONFIG_DIR: join(folder, 'config') },
  });

it('store identity makes an identity that decrypts what was encrypted for the printed recipient', async () => {
  const { code, stdout, stderr } = await make();
  expect(code).toBe(0);
  const recipient = stdout.trim();
  expect(recipient).toMatch(/^age1[a-z0-9]{58}$/);
  expect(stderr).toContain(`BACKUP_AGE_RECIPIENTS=${recipient}`);
  expect(await readdir(folder)).toEqual(['config']);
  const file = join(folder, 'config/identity.txt');
  expect(stderr).toContain(`${file} has a new age identity`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const [identity = ''] = await readIdentities(file);
  expect(stdout + stderr).not.toContain(identity);

  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const sealed = await encrypter.encrypt('an archive');
  expect(await decrypter.decrypt(sealed, 'text')).toBe('an archive');
});

it('store identity never replaces a file, nor writes through a link', async () => {
  await writeFile(join(folder, 'kept.txt'), 'of somebody');
  await symlink('elsewhere', join(folder, 'link.txt'));
  for (const name of ['kept.txt', 'link.txt']) {
    const { code, stdout, stderr } = await make(name);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`${name} exists and was not changed`);
  }
  expect(await readFile(join(folder, 'kept.txt'), 'utf8')).toBe('of somebody');
  await expect(stat(join(folder, 'elsewhere'))).rejects.toThrow('ENOENT');
});

it('store identity says what is wrong with a file that cannot be written', async () => {
  const { code, stderr } = await make('missing/identity.txt');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `there is no folder ${join(folder, 'missing')}: create it, or give another file\n`,
  });
  const long = `${'x'.repeat(300)}.txt`;
  const named = await make(long);
  expect(named).toMatchObject({ code: 2, stderr: `${long} cannot be written (ENAMETOOLONG)\n` });
});

it('store identity writes no private key where git could commit it', async () => {
  const tree = join(folder, 'tree');
  await mkdir(join(tree, 'keys/ignored'), { recursive: true });
  await git(tree, 'init', '--quiet');
  await writeFile(join(tree, '.gitignore'), 'ignored/\n*.key\n');
  await symlink(join(tree, 'keys'), join(folder, 'elsewhere'));
  for (const file of ['tree/identity.txt', 'tree/keys/a.txt', 'elsewhere/a.txt', 'tree/.git/a']) {
    const { code, stdout, stderr } = await make(file);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`${file} would be in the git repository ${tree}`);
    expect(stderr).toContain(join(folder, 'config/identity.txt'));
  }
  expect((await make('tree/keys/ignored/a.txt')).code).toBe(0);
  expect((await make('tree/mine.key')).code).toBe(0);
  expect(await git(tree, 'status', '--porcelain', '--untracked-files=all')).not.toMatch(/key|txt/);
});
