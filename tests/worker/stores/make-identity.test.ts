import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decrypter, Encrypter } from 'age-encryption';
import { expect, it } from 'vitest';
import { readIdentities } from '../../../lib/stores/reading/identities.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { runScript } from '../../support/script.ts';

const folder = useTemporaryFolder();
const make = (...args: string[]) =>
  runScript('worker', { args: ['store', 'identity', ...args], cwd: folder });

it('store identity makes an identity that decrypts what was encrypted for the printed recipient', async () => {
  const { code, stdout, stderr } = await make();
  expect(code).toBe(0);
  const recipient = stdout.trim();
  expect(recipient).toMatch(/^age1[a-z0-9]{58}$/);
  expect(stderr).toContain(`BACKUP_AGE_RECIPIENTS=${recipient}`);
  const file = join(folder, 'identity.txt');
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
  expect(code).toBe(2);
  expect(stderr).toContain('missing/identity.txt cannot be written (ENOENT)');
});
