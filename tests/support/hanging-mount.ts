import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// Preloaded into a process (`--import`): looking at a file or folder below HANG_FOLDER takes for ever, as on a network drive that is gone. HANG_PIPE is a pipe that nobody writes to: opening it really waits.

const { HANG_FOLDER: folder = '', HANG_PIPE: pipe = '' } = process.env;
const { stat, readdir, open } = fs.promises;

const hang = (path: unknown) => `${path}`.startsWith(folder);
const wait = () => open(pipe) as Promise<never>;

fs.promises.stat = ((path: fs.PathLike, ...more: []) =>
  hang(path) ? wait() : stat(path, ...more)) as typeof stat;
fs.promises.readdir = ((path: fs.PathLike, ...more: []) =>
  hang(path) ? wait() : readdir(path, ...more)) as typeof readdir;
syncBuiltinESMExports();
