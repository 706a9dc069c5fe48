import { type GroupProcess, readGroup } from '../processes/group-activity.ts';
import { cleanText } from '../text/clean-text.ts';
import { formatDuration } from '../text/units.ts';
import { type Progress, readProgress } from './progress.ts';

/** Within the time limit, git is looked at this often. */
const CHECKS = 10;
/** git that moves less data than this waits, and only keeps its connection alive. */
const MIN_BYTES_PER_SECOND = 1_000;
/** git that uses less of the processor than this waits. */
const MIN_LOAD = 0.01;
const TICKS_PER_SECOND = 100;

/** git's own programs. Credential helpers and ssh are not: a helper that hangs may be busy, and ssh sends keep-alives. */
const ownProgram = /^git(?:$|-(?!credential))/;
const shell = /^(?:ba|da|a|k|z)?sh$/;
/** Steps that the other side or the network can hold up; all others are this machine's own work. */
const transfer = /^(?:Enumerating|Counting|Compressing|Receiving|Finding)\b/;

/** What is watched. */
interface Watched {
  /** The group of git's processes. */
  group: number;
  stallMs: number;
  /** Whether git reports its progress. */
  hasProgress: boolean;
  /** git's command, such as `fetch`. */
  command: string;
  /** Whether the other side of a transfer is not on this machine. */
  isRemote: boolean;
  /** Whether git waits for this process, which has not read its output yet. */
  isHeldUp(): boolean;
  /** Called once, with what git waits for, and whether data had come before. */
  onStall(waitedFor: string, hasBegun: boolean): void;
}

/** Watches whether a git process works or waits. */
export interface StallWatch {
  /** Receives git's error output. */
  receive(text: string): void;
  /** Call when git has ended. */
  end(): void;
}

/**
 * Detects git that waits, whatever for: a server, a credential helper, ssh, a file system. It has then neither moved
 * data nor computed nor reported new progress for `stallMs` milliseconds. Where the system does not tell what processes
 * do, only the progress counts, of steps that the other side can hold up.
 */
export function watchForStall(watched: Watched): StallWatch {
  const { group, stallMs, hasProgress, command, isRemote, isHeldUp, onStall } = watched;
  const intervalMs = stallMs / CHECKS;
  // A server that works on a push for long only keeps the connection alive.
  const minBytes = command === 'push' ? 1 : (MIN_BYTES_PER_SECOND * intervalMs) / 1_000;
  let before = new Map<number, GroupProcess>();
  let last = '';
  let hasNews = false;
  let isTransfer = true;
  let idle = 0;

  const works = (processes: readonly GroupProcess[] | null) => {
    if (hasNews || isHeldUp()) return true;
    if (processes === null) return !(hasProgress && isTransfer);
    const done = sumOfWork(processes, before);
    return (
      done.bytes >= minBytes ||
      done.ticks >= Math.max(1, (MIN_LOAD * TICKS_PER_SECOND * intervalMs) / 1_000)
    );
  };
  const check = () => {
    const processes = readGroup(group);
    // Counts checks rather than time: if this process was suspended, git was not looked at meanwhile.
    idle = works(processes) ? 0 : idle + 1;
    hasNews = false;
    before = new Map((processes ?? []).map((one) => [one.pid, one]));
    if (idle < CHECKS) return;
    clearInterval(timer);
    onStall(describeWait(processes ?? [], isRemote), last !== '');
  };
  const timer = setInterval(check, intervalMs);

  const sawProgress = ({ phase, percent, bytes }: Progress) => {
    const seen = `${phase} ${percent} ${bytes}`;
    hasNews ||= seen !== last;
    last = seen;
    // After the last object, all remaining work is this machine's.
    isTransfer = transfer.test(phase) && !(phase.startsWith('Receiving') && percent === 100);
  };
  return { receive: readProgress(sawProgress), end: () => clearInterval(timer) };
}

/** What git's own programs have done since `before`. */
function sumOfWork(
  processes: readonly GroupProcess[],
  before: ReadonlyMap<number, GroupProcess>,
): { ticks: number; bytes: number } {
  const sum = { ticks: 0, bytes: 0 };
  for (const { pid, program, ticks, bytes } of processes) {
    if (!ownProgram.test(program)) continue;
    sum.ticks += ticks - (before.get(pid)?.ticks ?? 0);
    sum.bytes += bytes - (before.get(pid)?.bytes ?? 0);
  }
  return sum;
}

/** A shell is named only if there is nothing else to name: it may be the one that runs git's own program. */
function describeWait(processes: readonly GroupProcess[], isRemote: boolean): string {
  const programs = [...new Set(processes.map(({ program }) => program))];
  const others = programs.filter((program) => !ownProgram.test(program));
  const named = others.filter((program) => !shell.test(program));
  if (named.includes('ssh')) return 'ssh';
  const [first = isRemote ? others[0] : undefined] = named;
  if (first !== undefined)
    return `the program ${cleanText(first, 50)}, such as a credential helper`;
  return isRemote ? 'the other side' : 'a file system';
}

/** The message for git that was stopped because it waited. */
export function describeStall(command: string, stallMs: number, waitedFor: string): string {
  return `git ${command} moved no data for ${formatDuration(stallMs)} and was stopped: it waited for ${waitedFor}`;
}
