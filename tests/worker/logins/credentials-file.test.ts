import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openCredentialsFile } from '../../../lib/worker/logins/credentials-file.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { makeToken } from '../../support/git-host/state.ts';

const folder = join(useTemporaryFolder(), 'a', 'config');
const path = join(folder, 'credentials.json');
let notices: string[];
beforeEach(() => {
  notices = [];
});

const open = () => openCredentialsFile(folder, (text) => notices.push(text));
const modeOf = async (of: string) => (await stat(of)).mode & 0o777;
const login = (token: string) => ({
  kind: 'token' as const,
  account: 'ada',
  host: 'https://github.com',
  client_id: null,
  expires_at: null,
  refresh_expires_at: null,
  store: 'file' as const,
  token,
  refresh_token: null,
});

describe('credentials.json', () => {
  it('is readable only by its owner, in a folder readable only by its owner', async () => {
    await open().locked((held) => held.write({ 'github:source': login(makeToken('ghp')) }));
    expect([await modeOf(path), await modeOf(folder)]).toEqual([0o600, 0o700]);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      version: 1,
      logins: { 'github:source': { kind: 'token', account: 'ada', store: 'file' } },
    });
    expect(await readdir(folder)).toEqual(['credentials.json', 'credentials.lock']);
  });

  it('is not created by reading it', async () => {
    expect(await open().read()).toEqual({});
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('has wrong modes corrected, with a warning', async () => {
    await open().locked((held) => held.write({}));
    await chmod(path, 0o644);
    await chmod(folder, 0o755);
    await open().read();
    expect([await modeOf(path), await modeOf(folder)]).toEqual([0o600, 0o700]);
    expect(notices).toEqual([
      `warning: ${folder} had mode 0755, open to others; it is now 0700`,
      `warning: ${path} had mode 0644, open to others; it is now 0600`,
    ]);
    await open().read();
    expect(notices).toHaveLength(2);
  });

  it('keeps fields of a newer version', async () => {
    const ours = { ...login('t'), color: 'blue' };
    await open().locked((held) => held.write({ 'github:source': ours }));
    await open().locked(async (held) => held.write(await held.read()));
    expect(await readFile(path, 'utf8')).toContain('"color": "blue"');
  });

  const secret = makeToken('ghp');
  it.each([
    ['', 'empty'],
    ['{"version": 1, "logins"', 'cut off'],
    [`"${secret}"`, 'something else'],
    [`{"version": 2, "logins": {"x": "${secret}"}}`, 'of another version'],
    [`{"version": 1, "logins": {"github:source": {"token": "${secret}"}}}`, 'incomplete'],
  ])('is reported and left unchanged if it is invalid (%#)', async (text) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode: 0o600 });
    const fault = {
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: `${path} is not valid: move it away and log in again`,
    };
    await expect(open().read()).rejects.toMatchObject(fault);
    await expect(open().locked((held) => held.rehearse())).rejects.toMatchObject(fault);
    await expect(
      open().locked(async (held) => held.write({ ...(await held.read()) })),
    ).rejects.toMatchObject(fault);
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  it('keeps its old logins and leaves no draft if it cannot be written', async () => {
    await open().locked((held) => held.write({ 'github:source': login('old') }));
    // A folder in the way of the rename fails for root too.
    const blocked = join(folder, 'blocked');
    await mkdir(join(blocked, 'credentials.json', 'x'), { recursive: true, mode: 0o700 });
    const file = openCredentialsFile(blocked, () => undefined);
    await expect(file.locked((held) => held.write({}))).rejects.toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
    });
    expect((await readdir(blocked)).sort()).toEqual(['credentials.json', 'credentials.lock']);
  });

  it('is rid of temporary files of killed processes at the next change', async () => {
    await open().locked((held) => held.write({ 'github:source': login('old') }));
    await writeFile(join(folder, '.credentials.json.1.5a0c'), makeToken('ghp'), { mode: 0o600 });
    await open().locked((held) => held.write({}));
    expect((await readdir(folder)).sort()).toEqual(['credentials.json', 'credentials.lock']);
  });

  it('loses no update of concurrent processes', async () => {
    const each = 20;
    const children = ['a', 'b'].map((name) =>
      fork(join(import.meta.dirname, 'credentials-child.ts'), [folder, name, String(each)], {
        execArgv: [],
      }),
    );
    const ends = await Promise.all(children.map((child) => once(child, 'exit')));
    expect(ends).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(Object.keys(await open().read())).toHaveLength(2 * each);
  });

  it('is unlocked when the process that held it was killed', async () => {
    const child = fork(join(import.meta.dirname, 'credentials-child.ts'), [folder, 'held', '0'], {
      execArgv: [],
    });
    await once(child, 'message');
    child.kill('SIGKILL');
    await open().locked((held) => held.write({ 'github:source': login('new') }));
    expect(Object.keys(await open().read())).toEqual(['github:source']);
  });
});
