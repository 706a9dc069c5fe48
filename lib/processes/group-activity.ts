import { readdirSync, readFileSync } from 'node:fs';

/** A process of a group, and what it has done so far. */
export interface GroupProcess {
  pid: number;
  /** The name of its program, of at most 15 characters. */
  program: string;
  /** Processor time in hundredths of a second. */
  ticks: number;
  /** Bytes read and written, except those received from sockets with `recv`. */
  bytes: number;
}

/**
 * Reads what the processes of a group do; null where the system does not tell (it has no /proc of Linux). Synchronous,
 * because Node's file threads may all be waiting for a file system that hangs, which /proc does not.
 */
export function readGroup(group: number): GroupProcess[] | null {
  if (process.platform !== 'linux') return null;
  const found: GroupProcess[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readIfThere(`/proc/${pid}/stat`);
    // The name is in brackets and may contain any characters, also brackets.
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    if (end < 0 || Number(fields[2]) !== group) continue;
    found.push({
      pid,
      program: stat.slice(stat.indexOf('(') + 1, end),
      ticks: Number(fields[11]) + Number(fields[12]),
      bytes: countBytes(readIfThere(`/proc/${pid}/io`)),
    });
  }
  return found;
}

function countBytes(io: string): number {
  const counts = [...io.matchAll(/^(?:rchar|wchar|read_bytes): (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Empty if the process has ended, or belongs to another user. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return '';
    throw error;
  }
}
