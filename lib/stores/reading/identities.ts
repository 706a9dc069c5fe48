import { readFile, stat } from 'node:fs/promises';
import { Decrypter } from 'age-encryption';
import { AppError } from '../../errors.ts';

const MAX_FILE_BYTES = 2 ** 16;

/**
 * Reads a file of age identities, as written by `age-keygen`: one `AGE-SECRET-KEY-…` per line, and comments. Throws
 * BAD_REQUEST, which never repeats the file's contents.
 */
export async function readIdentities(path: string): Promise<string[]> {
  const text = await readText(path);
  if (/^(?:age-encryption\.org\/|-----BEGIN AGE)/.test(text)) {
    throw invalid('is encrypted with a passphrase; decrypt it first, with `age -d`');
  }
  const lines = text.split('\n').map((line) => line.trim());
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (identities.length === 0) throw invalid('has no identity: a line AGE-SECRET-KEY-…');
  for (const [index, identity] of identities.entries()) {
    try {
      new Decrypter().addIdentity(identity);
    } catch {
      // Without the cause, which may contain the secret.
      throw invalid(`has something other than an identity as its entry ${index + 1}`);
    }
  }
  return identities;
}

async function readText(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > MAX_FILE_BYTES) throw invalid('is too long');
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('BAD_REQUEST', 'the identity file cannot be read', { cause: error });
  }
}

function invalid(fault: string): AppError {
  return new AppError('BAD_REQUEST', `the identity file ${fault}`);
}
