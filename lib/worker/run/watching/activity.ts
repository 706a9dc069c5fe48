import type { ActiveRepository, RunProgress } from '../../../records/recording/progress.ts';
import type { Watcher } from '../../base/run-entry.ts';

/** What is being worked on, and how much was received. */
interface Activity {
  watch: Watcher;
  /** In the order in which the work began. */
  current(): RunProgress;
}

/** Follows which repositories of a run are worked on. */
export function createActivity(): Activity {
  const active = new Map<string, ActiveRepository>();
  let received = 0;
  return {
    watch(entry) {
      if (entry.type === 'resting' || entry.type === 'ended') active.delete(entry.repository);
      if (entry.type !== 'working') return;
      const { repository, doing } = entry;
      const before = active.get(repository);
      const now = typeof doing === 'string' ? { phase: doing, percent: null, bytes: null } : doing;
      received += Math.max(0, (now.bytes ?? 0) - (before?.bytes ?? 0));
      // Other steps of the same transfer do not repeat the bytes.
      const bytes = now.bytes ?? before?.bytes ?? null;
      active.set(repository, { repository, phase: now.phase, percent: now.percent, bytes });
    },
    current: () => ({ bytes: received, active: [...active.values()] }),
  };
}
