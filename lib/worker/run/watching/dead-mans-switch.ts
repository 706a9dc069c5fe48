import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import { cutText } from '../../../security/redaction/cut-text.ts';
import type { Redactor } from '../../../security/redaction/redactor.ts';
import type { Watcher } from '../../base/run-entry.ts';
import { describeReport, type RunReport } from './report.ts';

// The pings of Healthchecks (https://healthchecks.io/docs/http_api/), which other services understand too: the plain
// address for success, `/start` and `/fail`. All pings of one run have the same `rid`, also those of several workers.

const TIMEOUT_MS = 10_000;
const PAUSES_MS = [1_000, 5_000];
/** After Ctrl-C, the user is waiting for the command to end. */
const LAST_TIMEOUT_MS = 3_000;
const MAX_TEXT_LENGTH = 10_000;

/** Reports to another service how runs end, so that it notices when no run ends. */
export interface DeadMansSwitch {
  /** Reports the start of a run. */
  watch: Watcher;
  /** Reports how a run ended: as a success only if every repository succeeded. */
  ended(report: RunReport): Promise<void>;
  /** Reports why there was no run. */
  failed(reason: string): Promise<void>;
}

interface SwitchOptions {
  fetch: typeof fetch;
  clock: Clock;
  redactor: Redactor;
  /** Called with messages for a person. */
  tell(text: string): void;
  /** The signal that aborts after Ctrl-C. */
  signal: AbortSignal;
}

/**
 * Pings the service at `address`, which is a secret; null for none. A failed ping is reported, and never fails a run.
 */
export function createDeadMansSwitch(
  address: string | null,
  { fetch, clock, redactor, tell, signal }: SwitchOptions,
): DeadMansSwitch {
  let rid: string = randomUUID();
  let starting: Promise<void> = Promise.resolve();

  async function send(path: '' | '/start' | '/fail', text: string): Promise<void> {
    if (address === null) return;
    const url = new URL(address);
    url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
    url.searchParams.set('rid', rid);
    for (let tries = 0; ; tries++) {
      try {
        // Ctrl-C ends a waiting ping, and leaves less time for the last one.
        const limit = signal.aborted
          ? AbortSignal.timeout(LAST_TIMEOUT_MS)
          : AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
        const answer = await fetch(url, {
          method: 'POST',
          body: cutText(redactor.text(text), MAX_TEXT_LENGTH),
          headers: { 'content-type': 'text/plain; charset=utf-8' },
          redirect: 'manual',
          signal: limit,
        });
        await answer.body?.cancel();
        if (answer.ok) return;
        throw new Error(`it answered ${answer.status}`);
      } catch (error) {
        const pause = PAUSES_MS[tries];
        if (pause !== undefined && !signal.aborted) {
          // Ctrl-C ends the pause, and the next attempt is the last.
          await clock.sleep(pause, signal).catch(() => undefined);
          continue;
        }
        tell(`HEARTBEAT_URL was not notified of this run: ${describe(error)}`);
        return;
      }
    }
  }

  /** Waits for the start ping, so that pings arrive in order. */
  async function end(path: '' | '/fail', text: string): Promise<void> {
    await starting;
    await send(path, text);
    rid = randomUUID();
  }

  return {
    watch(entry) {
      if (entry.type !== 'began') return;
      if (entry.id !== null) rid = ridOf(entry.id);
      if (!entry.isJoined) starting = send('/start', '');
    },
    async ended(report) {
      // The other run, or the other workers of this one, send their own pings.
      if (report.status === 'refused' || report.status === 'left') return;
      await end(report.exitCode === 0 ? '' : '/fail', describeReport(report));
    },
    failed: (reason) => end('/fail', reason),
  };
}

/** A UUID that is the same for all workers of a run. */
function ridOf(run: number): string {
  const hash = createHash('sha256').update(`run ${run}`).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

/** Omits the address, which is a secret. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'TimeoutError') return 'it did not answer in time';
  if (error instanceof TypeError) {
    const { code } = (error.cause ?? {}) as { code?: string };
    return `it cannot be reached${code === undefined ? '' : ` (${code})`}`;
  }
  return error.message;
}
