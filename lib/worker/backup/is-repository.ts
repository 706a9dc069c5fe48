import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, nullIfMissing } from '../../files.ts';

/**
 * Whether a path is a repository, as far as its files show: also one that lacks a part, whose backup says so. A file may
 * be a bundle, which git reads too.
 */
export async function isRepository(path: string): Promise<boolean> {
  const has = async (name: string) => (await statOrNull(join(path, name))) !== null;
  if (await has('.git')) return true;
  const parts = [await has('HEAD'), await has('objects'), await has('refs')];
  return parts.filter(Boolean).length >= 2;
}

/** What is at a path; null if that cannot be told. */
export async function statOrNull(path: string) {
  try {
    return await nullIfMissing(stat(path));
  } catch (error) {
    // Not a folder, or one that may not be read.
    if (isSystemError(error)) return null;
    throw error;
  }
}
