import type { Environment } from '../../config/read.ts';
import { stallMsOf } from '../../git/git.ts';
import { doesAnswer, openFileCalls, UnansweredCall } from '../../processes/file-calls.ts';
import { formatDuration } from '../../text/units.ts';
import { RunStopped } from './stop.ts';

/** How long a folder may take to be listed, once a call has not been answered. */
const MAX_LISTING_MS = 3_000;

/** A file or folder did not answer. */
export class FolderHangs extends RunStopped {
  /** Whether whole folders did not answer, and not only a file in one. */
  readonly isWhole: boolean;

  constructor(message: string, isWhole: boolean) {
    super(message);
    this.isWhole = isWhole;
  }
}

interface HangOptions {
  environment: Environment;
  signal: AbortSignal;
  /** Where the files are that the work reads and writes. */
  folders(): readonly string[];
  /** Whether to ask these folders before anything is read: a call to one that hangs can keep the process from ending. */
  asksFirst?: boolean;
}

/**
 * Does work on files, and throws FolderHangs if a call to a file system is not answered within GIT_STALL_SECONDS, such
 * as on a network drive that is gone. Such a call cannot be stopped, and may never end: the work is abandoned, and the
 * signal that it got is aborted.
 */
export async function orHangs<Value>(
  { environment, signal, folders, asksFirst = false }: HangOptions,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const hung = new AbortController();
  const limitMs = stallMsOf(environment);
  if (asksFirst) {
    const found = await findSilent(folders(), limitMs);
    if (found.length > 0) throw describeHang(folders(), found, limitMs);
  }
  const maxAnswerMs = Math.min(limitMs, MAX_LISTING_MS);
  const isDead = async () => (await findSilent(folders(), maxAnswerMs)).length > 0;
  const calls = openFileCalls(limitMs, { signal, isDead });
  try {
    return await calls.watch(() => work(AbortSignal.any([signal, hung.signal])));
  } catch (error) {
    if (!(error instanceof UnansweredCall)) throw error;
    const silent = await findSilent(folders(), maxAnswerMs);
    const found = describeHang(folders(), silent, limitMs);
    hung.abort(found);
    throw found;
  }
}

/** The folders that do not answer. */
async function findSilent(folders: readonly string[], maxMs: number): Promise<string[]> {
  const all = [...new Set(folders)];
  const answers = await Promise.all(all.map((folder) => doesAnswer(folder, maxMs)));
  return all.filter((_, index) => answers[index] === false);
}

function describeHang(
  folders: readonly string[],
  silent: readonly string[],
  limitMs: number,
): FolderHangs {
  const [first, ...more] = silent;
  const isWhole = first !== undefined;
  const where =
    more.length === 0 ? `the folder ${first} has` : `the folders ${silent.join(' and ')} have`;
  const what = isWhole ? where : `a file in ${[...new Set(folders)].join(' or ')} has`;
  return new FolderHangs(
    `${what} not answered for ${formatDuration(limitMs)}: is the disk or network drive connected?`,
    isWhole,
  );
}
