import { readProc, readProcess } from './process-info.ts';

const CHECK_EVERY_MS = 500;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let hasEnded = false;

/** Whether this process was ended because npm is gone: what ended npm, and whether on purpose, cannot be known. */
export function hasNpmEnded(): boolean {
  return hasEnded;
}

/**
 * Ends this process, as SIGTERM does, once the npm that has started it is gone. npm passes a signal on to its shell
 * only, and none if it is killed: a server would keep its port and its folder, with nobody left to stop it. Does
 * nothing for a process that npm did not start, and none after a signal has arrived anyway.
 */
export function endWithNpm(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment.npm_lifecycle_script?.includes('scripts/launch.mjs') !== true) return;
  const parent = process.ppid;
  const npm = findNpm(parent);
  const isGone = () => process.ppid !== parent || (npm !== null && parentOf(parent) !== npm);
  const end = () => {
    hasEnded = true;
    process.kill(process.pid, 'SIGTERM');
  };
  if (isGone()) end();
  const timer = setInterval(() => {
    if (!isGone()) return;
    clearInterval(timer);
    end();
  }, CHECK_EVERY_MS);
  timer.unref();
  // Not listened to before the command does, because that would keep it from ending by default.
  const heard = new Set<string>();
  process.on('newListener', (event: string) => {
    const signal = signals.find((name) => name === event);
    if (signal === undefined || heard.has(signal)) return;
    heard.add(signal);
    process.once(signal, () => clearInterval(timer));
  });
}

/** npm, if the parent is the shell that it has started; null if the parent is npm itself, or that is unknown. */
function findNpm(parent: number): number | null {
  if (process.platform !== 'linux') return null;
  const isShell = readProc(parent, 'cmdline').split('\0').includes('-c');
  return isShell ? parentOf(parent) : null;
}

/** The parent of a process on Linux; 0 if it has ended. */
function parentOf(pid: number): number {
  return readProcess(pid)?.parent ?? 0;
}
