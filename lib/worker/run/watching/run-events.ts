import type { Progress } from '../../../git/progress.ts';
import type { NewLog } from '../../../records/recording/logs.ts';
import type { Outcome } from '../../backup/outcome.ts';

/** Events of a run, for the person or program that watches it. */
export interface RunEvents {
  /** The repositories are known. `durations`: how long the last backup of some took, in milliseconds. */
  began(run: {
    id: number | null;
    /** Whether another worker started the run, and this one joined it. */
    isJoined: boolean;
    repositories: readonly string[];
    durations: ReadonlyMap<string, number>;
  }): void;
  /** A line was logged. */
  logged(line: Omit<NewLog, 'runId'>): void;
  /** Work on a repository continues: with a step of ours, or with git's own progress. */
  working(repository: string, doing: string | Progress): void;
  /** A repository waits for its next attempt. */
  rested(repository: string): void;
  ended(repository: string, outcome: Outcome, facts: { durationMs: number; tries: number }): void;
  /** How many repositories of the run are done, and how many of them failed, if there are other workers. */
  counted(counts: { done: number; failed: number }): void;
  /** No other event follows. */
  closed(): void;
}

/** Forwards each event to the watchers that handle it, in order. */
export function notifyAll(watchers: readonly Partial<RunEvents>[]): RunEvents {
  const notify =
    <Name extends keyof RunEvents>(name: Name) =>
    (...args: Parameters<RunEvents[Name]>) => {
      for (const watcher of watchers) {
        (watcher[name] as ((...all: typeof args) => void) | undefined)?.(...args);
      }
    };
  return {
    began: notify('began'),
    logged: notify('logged'),
    working: notify('working'),
    rested: notify('rested'),
    ended: notify('ended'),
    counted: notify('counted'),
    closed: notify('closed'),
  };
}
