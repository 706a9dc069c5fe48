import { readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { makePrivate } from './private-files.ts';
import { restrictSession } from './session-rights.ts';

/**
 * WebAssembly's stack is much smaller than the 2 MB that Postgres assumes: without this limit, infinite
 * recursion would crash the database instead of failing.
 */
const startParams = [...PGlite.defaultStartParams, '-c', 'max_stack_depth=200kB'];

/** Missing from Node's type declarations. */
declare const WebAssembly: { compile(code: Uint8Array): Promise<WebAssembly.Module> };
const EXTENSIONS = `${PGlite.paths.PG_ROOT}/share/postgresql/extension`;

export interface StartOptions {
  /** The folder of PGlite's files; null keeps them in memory. */
  folder: string | null;
  /** The module compiled by an earlier start; null compiles it. */
  compiled: WebAssembly.Module | null;
  /** Receives the lines of Postgres's log. */
  onLog(line: string): void;
}

/** A Postgres running in this thread. */
export interface RunningPostgres {
  pglite: PGlite;
  compiled: WebAssembly.Module;
}

/** Starts PGlite in a folder or in memory. It may throw values that are not Errors. */
export async function startPostgres(options: StartOptions): Promise<RunningPostgres> {
  const { folder, onLog } = options;
  const compiled = options.compiled ?? (await compilePostgres());
  const settings = {
    extensions: { vector },
    startParams,
    pgliteWasmModule: compiled,
    onStderr: (line: string) => {
      onLog(line);
      return true;
    },
  };
  const pglite = await (folder === null
    ? PGlite.create(settings)
    : PGlite.create(folder, settings));
  if (folder !== null) makePrivate(folder);
  await restrictSession(pglite, EXTENSIONS);
  return { pglite, compiled };
}

/** PGlite would compile it twice: to initialize a new database and to run it. */
async function compilePostgres(): Promise<WebAssembly.Module> {
  const file = new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'));
  return WebAssembly.compile(await readFile(file));
}
