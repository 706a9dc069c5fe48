import type { Clock } from '../../clock.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatBytes, formatDuration } from '../../text/units.ts';
import type { Display } from '../display.ts';
import { isFailure } from '../schedule/outcome.ts';
import type { RunEvents } from './run-events.ts';
import { createTimeLeft, type TimeLeft } from './time-left.ts';

const REDRAW_MS = 100;
const BAR_WIDTH = 20;
const PHASE_WIDTH = 22;

interface ActiveRepository {
  phase: string;
  percent: number | null;
  bytes: number | null;
}

/**
 * Shows a run to a person: each log line as it comes, and on a terminal below them a line for the run and one
 * for each repository that is being worked on, drawn at most ten times a second.
 */
export function createBoard(display: Display, clock: Clock): RunEvents {
  const active = new Map<string, ActiveRepository>();
  const ending = new AbortController();
  let left: TimeLeft = createTimeLeft([], new Map());
  let began = clock.now();
  let [total, done, failed, received] = [0, 0, 0, 0];
  let drawnAt = Number.NEGATIVE_INFINITY;
  let isWaiting = false;

  const draw = () => {
    if (ending.signal.aborted || !display.isTerminal || total === 0) return;
    const wait = drawnAt + REDRAW_MS - clock.now();
    if (wait <= 0) {
      drawnAt = clock.now();
      display.footer([runLine(), ...[...active].map(repositoryLine)]);
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
  const runLine = () => {
    const filled = Math.floor((done / total) * BAR_WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
    const leftMs = left.estimate(clock.now() - began);
    const facts = [
      `${done} of ${total} done`,
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(received > 0 ? [`${formatBytes(received)} received`] : []),
      ...(leftMs === null ? [] : [`about ${formatDuration(leftMs)} left`]),
    ];
    return `${bar} ${facts.join(', ')}`;
  };

  return {
    began({ repositories, durations }) {
      left = createTimeLeft(repositories, durations);
      began = clock.now();
      total = repositories.length;
      draw();
    },
    logged({ level, message, repository }) {
      const prefix = level === 'info' ? '' : `${level}: `;
      display.line(`${repository === null ? '' : `${repository}: `}${prefix}${message}`);
    },
    working(repository, doing) {
      const before = active.get(repository);
      const now =
        typeof doing === 'string' ? { phase: doing, percent: null, bytes: null } : { ...doing };
      received += Math.max(0, (now.bytes ?? 0) - (before?.bytes ?? 0));
      // Other steps of the same transfer do not report the bytes again.
      active.set(repository, { ...now, bytes: now.bytes ?? before?.bytes ?? null });
      draw();
    },
    rested(repository) {
      active.delete(repository);
      draw();
    },
    ended(repository, outcome) {
      active.delete(repository);
      left.done(repository);
      done++;
      if (isFailure(outcome)) failed++;
      draw();
    },
    closed() {
      ending.abort();
      display.clear();
    },
  };
}

/** The name comes last: whatever its script, it cannot reorder or push away what is before it. */
function repositoryLine([repository, { phase, percent, bytes }]: [
  string,
  ActiveRepository,
]): string {
  const part = percent === null ? '' : `${percent} %`;
  const size = bytes === null ? '' : formatBytes(bytes);
  const columns = [
    part.padStart(5),
    phase.slice(0, PHASE_WIDTH).padEnd(PHASE_WIDTH),
    size.padStart(10),
  ];
  return `${columns.join(' ')}  ${cleanText(repository)}`;
}
