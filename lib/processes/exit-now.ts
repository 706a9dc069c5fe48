/** Time for the output to be written, once everything is done. */
const GRACE_MS = 2_000;

/**
 * Exits at once, also while a call to a file system that hangs occupies a thread: `process.exit` would wait for the
 * thread for ever. Becoming another program ends all threads; on Windows, where that is not possible, it waits.
 */
export function exitNow(code: number): void {
  if (isHeldUp() && process.execve !== undefined && process.platform !== 'win32') {
    process.execve('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  }
  process.exit(code);
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
