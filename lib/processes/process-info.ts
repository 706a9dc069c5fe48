import { readFileSync } from 'node:fs';

/** Whether another process with this id runs. One with our own id was an earlier one, as in a restarted container. */
export function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * A file of Linux's /proc about a process; empty if it has ended, or belongs to another user. Synchronous, because
 * Node's file threads may all be waiting for a file system that hangs, which /proc does not.
 */
export function readProc(pid: number, file: 'cmdline' | 'io' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return '';
    throw error;
  }
}

/** What Linux tells about a process. */
interface ProcessInfo {
  /** The name of its program, of at most 15 characters. */
  program: string;
  parent: number;
  group: number;
  /** Processor time in hundredths of a second. */
  ticks: number;
}

/** Reads what Linux tells about a process; null if it has ended. */
export function readProcess(pid: number): ProcessInfo | null {
  const stat = readProc(pid, 'stat');
  // The name is in brackets and may contain any characters, also brackets.
  const end = stat.lastIndexOf(')');
  if (end < 0) return null;
  const fields = stat.slice(end + 2).split(' ');
  return {
    program: stat.slice(stat.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    ticks: Number(fields[11]) + Number(fields[12]),
  };
}
