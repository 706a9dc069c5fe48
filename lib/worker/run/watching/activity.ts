import type { ActiveRepository, RunProgress } from '../../../records/recording/progress.ts';
import type { RunEvents } from './run-events.ts';

/** What is being worked on, and how much was received. */
interface Activity extends Pick<RunEvents, 'working' | 'rested'> {
  /** Called when work on a repository is over. */
  ended(repository: string): void;
  /** In the order in which the work began. */
  current(): RunProgress;
}

/** Tracks the events of a run. */
export function createActivity(): Activity {
  const active = new Map<string, ActiveRepository>();
  let received = 0;
  return {
    working(repository, doing) {
      const before = active.get(repository);
      const now = typeof doing === 'string' ? { phase: doing, percent: null, bytes: null } : doing;
      received += Math.max(0, (now.bytes ?? 0) - (before?.bytes ?? 0));
      // Other steps of the same transfer do not repeat the bytes.
      const bytes = now.bytes ?? before?.bytes ?? null;
      active.set(repository, { repository, phase: now.phase, percent: now.percent, bytes });
    },
    rested: (repository) => active.delete(repository),
    ended: (repository) => active.delete(repository),
    current: () => ({ bytes: received, active: [...active.values()] }),
  };
}
