import { spawn } from 'node:child_process';
import type { Environment } from '../../config/read.ts';
import { stallMsOf } from '../../git/git.ts';
import { openFileCalls, UnansweredCall } from '../../processes/file-calls.ts';
import { formatDuration } from '../../text/units.ts';
import { RunStopped } from './stop.ts';

/** How long a folder may take to be listed, once a call has not been answered. */
const MAX_LISTING_MS = 5_000;

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
}

/**
 * Does work on files, and throws FolderHangs if a call to a file system is not answered within GIT_STALL_SECONDS, such
 * as on a network drive that is gone. Such a call cannot be stopped, and may never end: the work is abandoned, and the
 * signal that it got is aborted.
 */
export async function orHangs<Value>(
  { environment, signal, folders }: HangOptions,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const hung = new AbortController();
  const calls = openFileCalls(stallMsOf(environment), signal);
  try {
    return await calls.watch(() => work(AbortSignal.any([signal, hung.signal])));
  } catch (error) {
    if (!(error instanceof UnansweredCall)) throw error;
    const found = await describeHang(folders(), error.limitMs);
    hung.abort(found);
    throw found;
  }
}

async function describeHang(folders: readonly string[], limitMs: number): Promise<FolderHangs> {
  const all = [...new Set(folders)];
  const maxMs = Math.min(limitMs, MAX_LISTING_MS);
  const answers = await Promise.all(all.map((folder) => canBeListed(folder, maxMs)));
  const silent = all.filter((_, index) => answers[index] === false);
  const [first] = silent;
  const isWhole = first !== undefined;
  const many = silent.length > 1 ? `folders ${silent.join(' and ')} have` : `folder ${first} has`;
  const what = isWhole ? `the ${many}` : `a file in ${all.join(' or ')} has`;
  return new FolderHangs(
    `${what} not answered for ${formatDuration(limitMs)}: is the disk or network drive connected?`,
    isWhole,
  );
}

/** Whether a folder answers, even if with an error. A process of its own asks: one that hangs is left alone. */
function canBeListed(folder: string, maxMs: number): Promise<boolean> {
  const text =
    'const fs = require("node:fs"); const [path] = process.argv.slice(1); fs.statfsSync(path); fs.readdirSync(path);';
  const asking = spawn(process.execPath, ['-e', text, '--', folder], { stdio: 'ignore' });
  asking.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      asking.kill('SIGKILL');
      resolve(false);
    }, maxMs);
    const answered = () => {
      clearTimeout(timer);
      resolve(true);
    };
    asking.once('exit', answered).once('error', answered);
  });
}
