import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import * as z from 'zod';
import { parseJson } from '../json.ts';
import { cleanText } from '../text/clean-text.ts';
import { isRunning } from './process-info.ts';

const note = z.object({ host: z.string(), pid: z.int(), command: z.string(), since: z.string() });

/** A process that holds a lock: its id, what it runs, and since when (ISO 8601). */
export interface LockHolder {
  pid: number;
  command: string;
  since: string;
}

const noteOf = (lockFile: string) => `${lockFile}.json`;

/** Notes beside a lock that this process holds it. Only the lock itself counts: a killed process leaves its note. */
export function noteHolder(lockFile: string, now = new Date()): void {
  const holder = {
    host: hostname(),
    pid: process.pid,
    command: ownCommand(),
    since: now.toISOString(),
  };
  writeFileSync(noteOf(lockFile), `${JSON.stringify(holder)}\n`, { mode: 0o600 });
}

/** Removes the note, before the lock is released. */
export function forgetHolder(lockFile: string): void {
  rmSync(noteOf(lockFile), { force: true });
}

/** Who holds a lock that is busy; null if that is unknown. */
export function findHolder(lockFile: string): LockHolder | null {
  try {
    const { data } = note.safeParse(parseJson(readFileSync(noteOf(lockFile), 'utf8')));
    return data?.host === hostname() && isRunning(data.pid) ? data : null;
  } catch {
    // The lock may just have been taken, or belong to an earlier version.
    return null;
  }
}

/** `process 4711 (npm run start), since 2026-01-02T03:04:05.000Z`. */
export function describeHolder({ pid, command, since }: LockHolder): string {
  return `process ${pid} (${cleanText(command, 100)}), since ${cleanText(since, 30)}`;
}

/** The script and its command, without options, which may be private. */
function ownCommand(): string {
  const [, script = '', command = ''] = process.argv;
  const name = basename(script).replace(/\.\w+$/, '');
  return ['npm run', name, ...(/^[a-z-]+$/.test(command) ? [command] : [])].join(' ');
}
