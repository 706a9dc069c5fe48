/**
 * Lets this process go on when nobody can read its output any more: a reader has ended early, such as `head` (EPIPE), or
 * the terminal was closed (EIO), whose SIGHUP says so as well.
 */
export function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}
