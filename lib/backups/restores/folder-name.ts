import { join } from 'node:path';
import { AppError } from '../../errors.ts';

const MAX_MADE_LENGTH = 80;
const MAX_TRIES = 1_000;

/** Names that Windows reserves, and that git takes for its own folder there. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d|git~\d+)(?:\.|$)/i;

/** What is wrong with the name of a folder; null if it is one on any system and stays where it is put. */
export function folderNameFault(name: string): string | null {
  if (name.length > 100) return 'must have at most 100 characters';
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.+ -]*$/u.test(name)) {
    return 'must begin with a letter or digit, and have only letters, digits, spaces and ._+-';
  }
  if (/[. ]$/.test(name)) return 'must not end with a dot or a space';
  return reserved.test(name) ? 'must not be a name that Windows or git reserves' : null;
}

/** A new folder for a version of a repository: `acme-app-version-3`, or with a number if that exists. */
export async function freeFolderName({
  root,
  repository,
  version,
  isFree,
}: {
  root: string;
  repository: string;
  version: number | null;
  isFree(path: string): Promise<boolean>;
}): Promise<string> {
  const plain = repository
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .slice(0, MAX_MADE_LENGTH);
  const name = `${plain === '' || reserved.test(plain) ? `repository-${plain}` : plain}-${version === null ? 'newest' : `version-${version}`}`;
  for (let number = 1; number <= MAX_TRIES; number++) {
    const path = join(root, number === 1 ? name : `${name}-${number}`);
    if (await isFree(path)) return path;
  }
  throw new AppError('CONFLICT', `${name} was restored too often: remove some, or choose a name`);
}
