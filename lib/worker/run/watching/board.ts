import type { Clock } from '../../../clock.ts';
import type { ActiveRepository } from '../../../records/recording/progress.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { formatBytes, formatDuration } from '../../../text/units.ts';
import type { Display } from '../../base/display.ts';
import type { Watcher } from '../../base/run-entry.ts';
import { createActivity } from './activity.ts';

const REDRAW_MS = 100;
const BAR_WIDTH = 20;
const PHASE_WIDTH = 22;
/** Before this, it is too early for an estimate. */
const MIN_ELAPSED_MS = 5_000;

/**
 * Shows a run to a person: each log line as it is written and, on a terminal, one line below them for the run and one
 * for each repository in progress, redrawn at most ten times a second.
 */
export function createBoard(display: Display, clock: Clock): Watcher {
  const activity = createActivity();
  const ending = new AbortController();
  let left: TimeLeft = createTimeLeft([], new Map());
  let began = clock.now();
  let [sources, total, done, failed] = [0, 0, 0, 0];
  /** Repositories done by this worker. */
  let own = 0;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let isWaiting = false;

  const draw = () => {
    if (ending.signal.aborted || !display.isTerminal || total === 0) return;
    const wait = drawnAt + REDRAW_MS - clock.now();
    if (wait <= 0) {
      drawnAt = clock.now();
      const { bytes, active } = activity.current();
      display.footer([runLine(bytes), ...active.map(repositoryLine)]);
    } else if (!isWaiting) {
      isWaiting = true;
      clock.sleep(wait, ending.signal).then(
        () => {
          isWaiting = false;
          draw();
        },
        () => undefined, // closed
      );
    }
  };
  const runLine = (received: number) => {
    const filled = Math.floor((done / total) * BAR_WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
    const leftMs = left.estimate(clock.now() - began, own === 0 ? 1 : done / own);
    const facts = [
      `${done} of ${total} done`,
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(received > 0 ? [`${formatBytes(received)} received`] : []),
      ...(leftMs === null ? [] : [`about ${formatDuration(leftMs)} left`]),
    ];
    return `${bar} ${facts.join(', ')}`;
  };

  return (entry) => {
    activity.watch(entry);
    switch (entry.type) {
      case 'began':
        left = createTimeLeft(entry.repositories, entry.durations);
        began = clock.now();
        sources = entry.repositories.length;
        total = sources;
        return draw();
      case 'log': {
        const { level, message, repository } = entry;
        const prefix = level === 'info' ? '' : `${level}: `;
        display.line(`${repository === null ? '' : `${repository}: `}${prefix}${message}`);
        return;
      }
      case 'working':
      case 'resting':
        return draw();
      case 'ended':
        left.done(entry.repository);
        if (entry.unread !== null) {
          total--;
          return draw();
        }
        own++;
        done++;
        if (entry.failure !== null) failed++;
        return draw();
      case 'counted':
        total = Math.min(total, sources - entry.unread);
        done = Math.min(total, Math.max(done, entry.done));
        failed = Math.max(failed, entry.failed);
        return draw();
      case 'closed':
        ending.abort();
        display.clear();
    }
  };
}

/** The name comes last: whatever its script, it cannot reorder or push away what precedes it. */
function repositoryLine({ repository, phase, percent, bytes }: ActiveRepository): string {
  const part = percent === null ? '' : `${percent} %`;
  const size = bytes === null ? '' : formatBytes(bytes);
  const columns = [
    part.padStart(5),
    phase.slice(0, PHASE_WIDTH).padEnd(PHASE_WIDTH),
    size.padStart(10),
  ];
  return `${columns.join(' ')}  ${cleanText(repository)}`;
}

/** Estimates when a run will end. */
interface TimeLeft {
  /** Records that a repository is done. */
  done(repository: string): void;
  /**
   * Milliseconds; null if it is too early to say. `factor` accounts for other workers: 2 if they have done as much as
   * this one. Default: 1.
   */
  estimate(elapsedMs: number, factor?: number): number | null;
}

/** Weights each repository by its last duration. One without a duration counts like the mean of the others. */
function createTimeLeft(
  repositories: readonly string[],
  durations: ReadonlyMap<string, number>,
): TimeLeft {
  const known = repositories.flatMap((name) => durations.get(name) ?? []);
  const mean = known.length === 0 ? 1 : known.reduce((sum, ms) => sum + ms, 0) / known.length;
  const share = (name: string) => Math.max(1, durations.get(name) ?? mean);
  const all = repositories.reduce((sum, name) => sum + share(name), 0);
  let over = 0;
  return {
    done(repository) {
      over += share(repository);
    },
    estimate(elapsedMs, factor = 1) {
      if (elapsedMs < MIN_ELAPSED_MS || over === 0) return null;
      const overallOver = over * factor;
      return (elapsedMs * Math.max(0, all - overallOver)) / overallOver;
    },
  };
}
