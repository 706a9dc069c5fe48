declare global {
  interface Window {
    /** The offset that `start/ask-early.ts` measured. */
    earlyClockOffset?: number;
  }
}

/** Smaller offsets are ignored: the Date header has no fractions of a second, and takes a while to arrive. */
const MIN_OFFSET_MS = 2_000;

/** How far the server's clock is ahead of the browser's, in milliseconds; null until a response was measured. */
let offset: number | null = null;
const listeners = new Set<() => void>();

const knownOffset = () => offset ?? window.earlyClockOffset ?? 0;

/** How far the clock of the server that has just sent a response is ahead, in milliseconds; null if it does not say. */
export function readClockOffset({ headers }: Response): number | null {
  const difference = Date.parse(headers.get('Date') ?? '') - Date.now();
  if (Number.isNaN(difference)) return null;
  return Math.abs(difference) >= MIN_OFFSET_MS ? difference : 0;
}

/** Learns the server's time from a response that has just arrived. */
export function noteServerTime(response: Response): void {
  const read = readClockOffset(response);
  // Responses differ by the time that they take.
  if (read === null || Math.abs(read - knownOffset()) < MIN_OFFSET_MS) return;
  offset = read;
  for (const tell of listeners) tell();
}

/** Calls `tell` when the browser's clock turns out to be wrong. Returns a function that ends this. */
export function onClockChange(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

/**
 * The time of the server, in milliseconds since the epoch. Times from the server are compared with this one, because
 * the clock of a browser may be wrong by days.
 */
export function serverNow(): number {
  return Date.now() + knownOffset();
}
