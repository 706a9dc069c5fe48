import type { Progress } from '../../lib/git/progress.ts';
import type { RunEntry, Watcher } from '../../lib/worker/base/run-entry.ts';

type Ended = Extract<RunEntry, { type: 'ended' }>;

/** Tells a watcher what happens in a run, in few words. */
export function tellTo(watch: Watcher) {
  return {
    began: (repositories: string[], durations = new Map<string, number>()) =>
      watch({ type: 'began', id: 1, isJoined: false, repositories, durations }),
    working: (repository: string, doing: string | Progress) =>
      watch({ type: 'working', repository, doing }),
    resting: (repository: string) => watch({ type: 'resting', repository }),
    ended(repository: string, status: Ended['status']) {
      const failure =
        status === 'failed' || status === 'unread'
          ? { kind: 'other' as const, errorMessage: 'it failed' }
          : null;
      watch({
        ...{ type: 'ended', repository, status, durationMs: 1, tries: 1 },
        ...{ unread: status === 'unread' ? repository : null, failure, archive: null },
      });
    },
    counted: (counts: { done: number; failed: number; unread?: number }) =>
      watch({ type: 'counted', unread: 0, ...counts }),
    logged: (line: Omit<Extract<RunEntry, { type: 'log' }>, 'type'>) =>
      watch({ type: 'log', ...line }),
    closed: () => watch({ type: 'closed' }),
  };
}
