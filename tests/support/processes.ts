import { readdir, readFile } from 'node:fs/promises';
import { nullIfMissing } from '../../lib/files.ts';

/** A local process, as Linux describes it. */
interface ProcessFacts {
  pid: number;
  parent: number;
  /** Its command line. */
  command: string;
  /** Its environment when it started. */
  environment: string;
}

/** All processes that are alive. Linux only. */
async function listProcesses(): Promise<ProcessFacts[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process may end meanwhile: its files no longer exist, or can no longer be read.
      const read = (file: string) =>
        nullIfMissing(readFile(`/proc/${pid}/${file}`, 'utf8')).catch(
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'ESRCH') return null;
            throw error;
          },
        );
      const [stat, command] = [await read('stat'), await read('cmdline')];
      // The environment of another user's process cannot be read.
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      const [, state, parent] = /\) (\S) (\d+) /.exec(stat ?? '') ?? [];
      // A process that nobody waits for is dead, but listed.
      if (state === undefined || state === 'Z' || command === null) return null;
      return {
        pid: Number(pid),
        parent: Number(parent),
        command: command.replaceAll('\0', ' '),
        environment,
      };
    }),
  );
  return found.filter((process) => process !== null);
}

/** Resolves when none of the processes is alive. Only the test's time limit ends the wait. */
export async function ended(pids: readonly number[]): Promise<void> {
  for (;;) {
    const alive = new Set((await listProcesses()).map(({ pid }) => pid));
    if (!pids.some((pid) => alive.has(pid))) return;
  }
}

/** The descendants of a process, at any depth. */
export async function descendantsOf(pid: number): Promise<ProcessFacts[]> {
  const all = await listProcesses();
  const below = (parent: number): ProcessFacts[] =>
    all
      .filter((process) => process.parent === parent)
      .flatMap((process) => [process, ...below(process.pid)]);
  return below(pid);
}

/** The processes that name a folder in their arguments or variables. */
export async function processesOf(folder: string): Promise<ProcessFacts[]> {
  const all = await listProcesses();
  return all.filter(({ command, environment }) => `${command}\n${environment}`.includes(folder));
}
