import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../log.ts';
import { finishRun, type RunEnding } from '../../records/recording/runs.ts';
import type { Display } from '../display.ts';
import type { Journal } from '../journal.ts';
import { retryWhileUnavailable } from '../retry.ts';
import { stopMessages } from '../stop.ts';

/** How long the end of a run waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 5_000;

export interface EndContext {
  db: Database;
  clock: Clock;
  display: Display;
  log: Log;
}

/** How a run ended, and whether its end is recorded. */
export type RecordedEnd = Pick<RunEnding, 'status' | 'errorMessage'> & { isRecorded: boolean };

/** Records the end of a run. If that fails, the run has failed. */
export async function endRun(
  { db, clock, display, log }: EndContext,
  journal: Journal,
  { lastLine, ...ending }: RunEnding & { lastLine: string },
): Promise<RecordedEnd> {
  const { id, status, errorMessage } = ending;
  let ended: boolean;
  try {
    // Without the run's signal, which may have aborted.
    ended = await retryWhileUnavailable(() => finishRun(db, ending), {
      clock,
      forMs: LAST_PATIENCE_MS,
    });
  } catch (error) {
    log.error('the end of a run could not be stored', { run_id: id, error });
    display.line(`run ${id} stays open until it counts as stale: its end could not be stored`);
    return {
      status: 'failed',
      errorMessage: errorMessage || stopMessages.unreachable,
      isRecorded: false,
    };
  }
  const end: RecordedEnd = ended
    ? { status, errorMessage, isRecorded: true }
    : { status: 'failed', errorMessage: stopMessages.taken, isRecorded: true };
  try {
    const level = end.status === 'failed' ? 'error' : 'info';
    const why = ended ? lastLine : end.errorMessage;
    await journal.conclude(level, `run ${id} ${end.status}${why && `: ${why}`}`);
  } catch (error) {
    log.warn('the last line of a run could not be stored', { run_id: id, error });
  }
  return end;
}
