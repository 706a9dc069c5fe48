import { readdirSync } from 'node:fs';
import { readProc, readProcess } from './process-info.ts';

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

/** Reads what the processes of a group do; null where the system does not tell (it has no /proc of Linux). */
export function readGroup(group: number): GroupProcess[] | null {
  if (process.platform !== 'linux') return null;
  const found: GroupProcess[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const info = readProcess(pid);
    if (info?.group !== group) continue;
    const { program, ticks } = info;
    found.push({ pid, program, ticks, bytes: countBytes(readProc(pid, 'io')) });
  }
  return found;
}

function countBytes(io: string): number {
  const counts = [...io.matchAll(/^(?:rchar|wchar|read_bytes): (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
