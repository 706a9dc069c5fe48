/** How far git is with its current step. */
export interface Progress {
  /** git's name of the step, such as `Receiving objects`. */
  phase: string;
  /** From 0 to 100; null if git cannot know it. */
  percent: number | null;
  /** Bytes received so far; null if git does not report them. */
  bytes: number | null;
}

/** The longest line of progress that is read; git's own have about 100 characters. */
const MAX_LINE_LENGTH = 300;

/** `Receiving objects:  45% (450/1000), 1.20 MiB | 300.00 KiB/s`, `remote: Enumerating objects: 5, done.` */
const progressLine =
  /^(?:remote: )?([A-Z][a-z]+(?: [a-z]+){0,3}):\s{1,5}(?:(\d{1,3})% \(\d{1,15}\/\d{1,15}\)|\d{1,15})(?:, (\d{1,12}(?:\.\d{1,3})?) (bytes|KiB|MiB|GiB))?(?:[, |]|$)/;
const units = { bytes: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Reads a line of git's error output. Null if it does not report progress. */
export function parseProgress(line: string): Progress | null {
  const [, phase, percent, amount, unit] = progressLine.exec(line.slice(0, MAX_LINE_LENGTH)) ?? [];
  if (phase === undefined) return null;
  return {
    phase,
    percent: percent === undefined ? null : Math.min(100, Number(percent)),
    bytes: amount === undefined ? null : Math.round(Number(amount) * units[unit as 'KiB']),
  };
}

/**
 * Returns a function that takes git's error output in chunks and reports the newest progress of each. The remote
 * side can write there too, so memory is bounded: only the beginning of a line without an end is kept.
 */
export function readProgress(onProgress: (progress: Progress) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    // git ends a line that it is about to overwrite with a carriage return.
    const lines = (rest + chunk).split(/[\r\n]/);
    rest = (lines.pop() ?? '').slice(0, MAX_LINE_LENGTH);
    const newest = lines.reduce<Progress | null>((last, line) => parseProgress(line) ?? last, null);
    if (newest !== null) onProgress(newest);
  };
}
