import { lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { databaseVariables } from '../../lib/config/database.ts';
import { type Environment, readConfig } from '../../lib/config/read.ts';
import { replaceFile, restrict, syncFile } from '../../lib/durable-files.ts';
import { AppError } from '../../lib/errors.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { counted, formatBytes } from '../../lib/text/units.ts';
import { version } from '../../lib/version.ts';
import { type Keychain, KeychainError } from '../../lib/worker/base/keychain.ts';
import { type LoginName, type Logins, loginNames } from '../../lib/worker/logins/login.ts';
import { openLoginStore } from '../../lib/worker/logins/login-store.ts';
import {
  copyNew,
  hashContent,
  isLock,
  listPackedTree,
  loginFiles,
  MANIFEST,
  type Manifest,
  missingFolders,
  type PackedFile,
  type PackedTree,
  type Part,
  parts,
  placesOf,
  removeEmptyFolders,
  UNFINISHED,
  whileUnused,
  withFiles,
} from './packed-files.ts';

export interface PackOptions {
  environment: Environment;
  /** The folder of `.env`. */
  start: string;
  /** The folder to pack into: missing, empty, or left unfinished by an interrupted command. */
  to: string;
  withMirrors: boolean;
  /** Whether to export the secrets of logins in the keychain, unencrypted. */
  withKeychain: boolean;
  /** The file of an age identity to pack; null for none. */
  identityFile: string | null;
  keychain: Keychain;
  say(text: string): void;
}

/**
 * Packs this installation into a folder, for another machine: DATA_DIR with the embedded database, archives, `.env` and
 * logins. Every file is read back. Throws CONFLICT, with nothing packed, while a server or a worker runs. If anything
 * fails, nothing stays of what it has packed.
 */
export async function packInstallation(options: PackOptions): Promise<void> {
  const { environment, start, to } = options;
  const places = placesOf(environment, start);
  for (const part of ['data', 'archives', 'config'] as const) {
    if (isWithin(to, places[part])) {
      throw new AppError('BAD_REQUEST', `--to-folder must not be in ${places[part]}`);
    }
  }
  if ((await nullIfMissing(stat(places.data))) === null) {
    throw new AppError('NOT_FOUND', `there is no ${places.data}: set DATA_DIR, or start here once`);
  }
  const identity = options.identityFile;
  if (identity !== null && loginFiles.includes(basename(identity).toLowerCase())) {
    throw new AppError(
      'BAD_REQUEST',
      `--with-identity: a file of logins is called ${basename(identity)} too, rename the identity`,
    );
  }
  await whileUnused(places.data, () => withFiles(() => pack(options, places)));
}

async function pack(options: PackOptions, places: ReturnType<typeof placesOf>): Promise<void> {
  const { to } = options;
  const made = await missingFolders(to);
  await prepareTarget(to);
  try {
    await packInto(to, options, places);
  } catch (error) {
    for (const name of await readdir(to))
      await rm(join(to, name), { recursive: true, force: true });
    await removeEmptyFolders(made);
    throw error;
  }
}

async function packInto(
  to: string,
  options: PackOptions,
  places: ReturnType<typeof placesOf>,
): Promise<void> {
  const { environment, say } = options;
  const files: PackedFile[] = [];
  const folders: Manifest['folders'] = [];
  for (const part of parts) {
    const tree = await listPart(part, options, places);
    for (const path of tree.files) {
      files.push(await packFile(join(places[part], path), { part, path }, to));
    }
    folders.push(...tree.folders.map((path) => ({ part, path })));
  }
  const identity = options.identityFile;
  if (identity !== null) {
    // Beside the logins, and not in the checkout, from where it could be committed.
    const path = basename(identity);
    files.push({ ...(await packFile(identity, { part: 'config', path }, to)), mode: 0o600 });
  }
  const logins = await packLogins(options, places.config, to);
  if (logins.file !== null) files.push(logins.file);
  for (const { part, path, size, sha256 } of files) {
    const found = await hashContent(join(to, part, path));
    if (found.size === size && found.sha256 === sha256) continue;
    throw new AppError('CONFLICT', `${join(to, part, path)} was not stored as it was written`);
  }
  const content: Manifest = {
    format: 'backup-observatory-move',
    format_version: 1,
    version,
    packed_at: new Date().toISOString(),
    files,
    folders,
  };
  await replaceFile(join(to, MANIFEST), `${JSON.stringify(content, null, 1)}\n`);
  await rm(join(to, UNFINISHED));
  if (process.platform !== 'win32') await syncFile(to);

  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  say(
    `Packed ${counted(files.length, 'file')}, ${formatBytes(bytes)}, into ${to}, and read them back.`,
  );
  if (readConfig(databaseVariables, environment).DATABASE_URL !== undefined) {
    say('Not included: the database of DATABASE_URL, which stays where it is.');
  }
  if (!options.withMirrors) say('Not included: mirrors, which the next run fetches again.');
  if (logins.left.length > 0) {
    say(
      `Not included: the secrets in the keychain (${logins.left.join(', ')}). Log in again on the new machine, or pack again with --with-keychain, which writes them to the folder unencrypted.`,
    );
  }
  if (identity === null) {
    say('Not included: age identities. Take yours along, or add --with-identity FILE.');
  }
  say(`Not included: your schedule (crontab -l, or a systemd unit) and git's own credentials and keys (~/.ssh).
The folder contains secrets: only you can read it. Next:
  1. Copy it to the new machine as it is, such as with: rsync -a ${shownTarget(to)} NEW-MACHINE:
  2. In the checkout there: npm ci && npm run move -- --from-folder ${basename(to)}
  3. Do not start this installation again: two that back up the same repositories disturb each other.`);
}

const shownTarget = (to: string) => relative('', to) || '.';

function isWithin(path: string, folder: string): boolean {
  const steps = relative(folder, path);
  return (
    steps === '' || (steps !== '..' && !steps.startsWith(`..${sep}`) && resolve(steps) !== steps)
  );
}

/** Creates the folder, and removes what an interrupted command has left in it. Throws CONFLICT if it has anything else. */
async function prepareTarget(to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const names = await readdir(to);
  if (names.length > 0 && !names.includes(UNFINISHED)) {
    throw new AppError('CONFLICT', `${to} is not empty: give a new folder`);
  }
  if (process.platform !== 'win32') await restrict(to, 0o700);
  await writeFile(join(to, UNFINISHED), '', { mode: 0o600 });
  // It may be in a checkout, and contains secrets.
  await writeFile(join(to, '.gitignore'), '*\n', { mode: 0o600 });
  for (const name of names) {
    if (![UNFINISHED, '.gitignore'].includes(name))
      await rm(join(to, name), { recursive: true, force: true });
  }
}

async function listPart(
  part: Part,
  { withMirrors }: PackOptions,
  places: ReturnType<typeof placesOf>,
): Promise<PackedTree> {
  const only = async (name: string) => {
    const found = await nullIfMissing(lstat(join(places[part], name)));
    return { files: found === null ? [] : [name], folders: [] };
  };
  switch (part) {
    case 'data': {
      const archives = relative(places.data, places.archives).split(sep).join('/');
      const isLeftOut = (path: string) =>
        path === archives || isLock(path) || (!withMirrors && path === 'mirrors');
      return listPackedTree(places.data, isLeftOut);
    }
    case 'archives':
      return listPackedTree(places.archives, () => false);
    case 'config':
      return only('app.json');
    case 'start':
      return only('.env');
  }
}

async function packFile(
  from: string,
  { part, path }: Pick<PackedFile, 'part' | 'path'>,
  to: string,
): Promise<PackedFile> {
  const { mode, mtimeMs } = await stat(from);
  const modified_ms = Math.floor(mtimeMs);
  const content = await copyNew(from, join(to, part, path), { mode: 0o600, modified_ms });
  // Everything but archives may contain secrets.
  const kept = part === 'archives' ? mode & 0o777 : mode & 0o700;
  return { part, path, ...content, mode: kept, modified_ms };
}

/** Packs credentials.json: logins in the keychain with their secrets if wanted, otherwise without these logins. */
async function packLogins(
  { keychain, withKeychain, say }: PackOptions,
  folder: string,
  to: string,
): Promise<{ file: PackedFile | null; left: string[] }> {
  const store = openLoginStore({ folder, keychain, notify: say });
  const packed: Logins = {};
  const left: string[] = [];
  for (const [name, login] of Object.entries(await store.list())) {
    if (login.store === 'file') packed[name] = login;
    else if (!withKeychain || !isLoginName(name)) left.push(name);
    else {
      try {
        packed[name] = { ...login, store: 'file', ...(await store.secretsOf(name, login)) };
      } catch (error) {
        if (!(error instanceof KeychainError)) throw error;
        throw new AppError(
          'CREDENTIAL_STORAGE_UNAVAILABLE',
          `the keychain could not be read (${error.message}): repeat this in a desktop session, or without --with-keychain`,
        );
      }
    }
  }
  if (Object.keys(packed).length === 0) return { file: null, left };
  const path = 'credentials.json';
  const copy = join(to, 'config', path);
  await mkdir(join(to, 'config'), { recursive: true, mode: 0o700 });
  await replaceFile(copy, `${JSON.stringify({ version: 1, logins: packed }, null, 2)}\n`);
  const modified_ms = Math.floor((await stat(copy)).mtimeMs);
  return {
    file: { part: 'config', path, ...(await hashContent(copy)), mode: 0o600, modified_ms },
    left,
  };
}

const isLoginName = (name: string): name is LoginName =>
  (loginNames as readonly string[]).includes(name);
