import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { ArchiveFolder } from '../support/archives.ts';
import { nodeFlags } from '../support/node-flags.ts';

/** Starts a process that verifies team/app and, like our servers, exits by itself on SIGTERM. */
export function startReader(
  archives: ArchiveFolder,
  path: string,
  ...where: 'in its own process'[]
): { child: ChildProcess; ended: Promise<number | null> } {
  const script = resolve(import.meta.dirname, 'reader-child.ts');
  const given = [archives.root, archives.scratch, ...where];
  const child = spawn(process.execPath, [...nodeFlags, script, ...given], {
    env: { PATH: path },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return { child, ended: once(child, 'exit').then(([code]) => code as number | null) };
}
