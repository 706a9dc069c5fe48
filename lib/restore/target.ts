import { lstat, mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../errors.ts';
import { nullIfMissing } from '../files.ts';

/**
 * Creates the parent folders of the target for `work`, and removes them again if that fails. Throws CONFLICT if the
 * target exists and is not an empty folder, or cannot be created.
 */
export async function inParent<Result>(
  target: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const parent = dirname(target);
  const first = await prepare(target);
  try {
    return await work();
  } catch (error) {
    if (first !== undefined) await removeEmpty(parent, first);
    throw error;
  }
}

/** Throws CONFLICT if the target exists and is not an empty folder. */
export async function checkTarget(target: string): Promise<void> {
  if (!(await isFree(target))) throw notEmpty(target);
}

/** Whether the target does not exist or is an empty folder. Throws CONFLICT if that cannot be determined. */
export async function isFree(target: string): Promise<boolean> {
  try {
    const found = await nullIfMissing(lstat(target));
    return found === null || (found.isDirectory() && (await readdir(target)).length === 0);
  } catch (error) {
    throw new AppError('CONFLICT', `${target} cannot be written`, { cause: error });
  }
}

/** Returns the first folder that was created, if any. */
async function prepare(target: string): Promise<string | undefined> {
  try {
    await checkTarget(target);
    return await mkdir(dirname(target), { recursive: true });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('CONFLICT', `${target} cannot be written`, { cause: error });
  }
}

/** Removes empty folders, from `folder` up to `last`. */
async function removeEmpty(folder: string, last: string): Promise<void> {
  for (let current = folder; current.length >= last.length; current = dirname(current)) {
    if ((await readdir(current)).length > 0) return;
    await rmdir(current);
  }
}

/** Moves a finished folder to the target. Throws CONFLICT if something was put there in the meantime. */
export async function moveTo(folder: string, target: string): Promise<void> {
  try {
    await rename(folder, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR'].includes(code ?? '')) throw notEmpty(target);
    throw error;
  }
}

function notEmpty(target: string): AppError {
  return new AppError('CONFLICT', `${target} is not an empty folder`);
}
