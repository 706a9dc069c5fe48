import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { nodeFlags } from '../../support/node-flags.ts';
import type { Victim } from './kill-repeatedly.ts';

/** Starts one kind of work in `victim.ts` and resolves when it begins. */
export async function beginWork(...args: string[]): Promise<Victim> {
  const child = spawn(
    process.execPath,
    [...nodeFlags, join(import.meta.dirname, 'victim.ts'), ...args],
    {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let said = '';
  const began = Promise.withResolvers<void>();
  createInterface(child.stdout)
    .on('line', (line) => {
      if (line === 'begins') began.resolve();
      said += `${line}\n`;
    })
    .once('close', () => began.reject(new Error(`${args[0]} ended before it began`)));
  await began.promise;
  return { child, said: () => said };
}
