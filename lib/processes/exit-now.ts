/** Time for calls that work, and for the output to be written. */
const GRACE_MS = 2_000;

/**
 * Exits, and soon also while a call to a file system that hangs occupies a thread: `process.exit` would wait for the
 * thread for ever. Becoming another program ends all threads, but skips what is to be done at the exit, so calls that
 * work get the time to end first. On Windows, where that is not possible, it waits for them all.
 */
export function exitNow(code: number): void {
  if (!isHeldUp()) process.exit(code);
  setTimeout(() => {
    if (isHeldUp() && process.execve !== undefined && process.platform !== 'win32') {
      process.execve('/bin/sh', ['sh', '-c', `exit ${code}`], {});
    }
    process.exit(code);
  }, GRACE_MS);
}

/** Ends a command that is done with its exit code, although a call to a file system still hangs. */
export function exitSoon(): void {
  const end = () => {
    if (isHeldUp()) exitNow(Number(process.exitCode ?? 0));
  };
  setTimeout(end, GRACE_MS).unref();
}

function isHeldUp(): boolean {
  return process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'));
}
