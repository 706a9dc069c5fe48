import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// Preloaded into a process (`--import`): below WEAK_FOLDER, the file system fails with WEAK_CODE where shares, FUSE and
// some NAS do: when permissions are changed, hard links made, or files flushed.

const { WEAK_FOLDER: folder = '', WEAK_CODE: code = '' } = process.env;

/** The error of the file system if the path is below the folder. */
function fail(syscall: string, path: unknown): void {
  if (!`${path}`.startsWith(folder)) return;
  throw Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });
}

const { chmod, link, open } = fs.promises;
fs.promises.chmod = async (path, mode) => {
  fail('chmod', path);
  return chmod(path, mode);
};
fs.promises.link = async (from, to) => {
  fail('link', to);
  return link(from, to);
};
fs.promises.open = async (path, ...more) => {
  const handle = await open(path, ...more);
  const [sync, datasync] = [handle.sync.bind(handle), handle.datasync.bind(handle)];
  handle.sync = async () => {
    fail('fsync', path);
    return sync();
  };
  handle.datasync = async () => {
    fail('fdatasync', path);
    return datasync();
  };
  return handle;
};
syncBuiltinESMExports();
