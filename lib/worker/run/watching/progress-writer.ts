import type { Clock } from '../../../clock.ts';
import type { RunProgress } from '../../../records/recording/progress.ts';
import type { Watcher } from '../../base/run-entry.ts';
import { createActivity } from './activity.ts';

const WRITE_MS = 1_000;

interface ProgressWriterOptions {
  clock: Clock;
  /** Stores the run's progress. */
  write(progress: RunProgress): Promise<void>;
  /** Called with an error of `write`. */
  onError(error: unknown): void;
}

/** Stores the progress of a run. */
interface ProgressWriter {
  watch: Watcher;
  current(): RunProgress;
}

/**
 * Stores a run's progress when it changes, at most once a second and one write at a time. Nothing waits for a write;
 * later changes go with the next one.
 */
export function createProgressWriter(options: ProgressWriterOptions): ProgressWriter {
  const { clock, write, onError } = options;
  const activity = createActivity();
  const ending = new AbortController();
  let isChanged = false;
  let isWriting = false;

  const writeChanges = async () => {
    while (isChanged && !ending.signal.aborted) {
      isChanged = false;
      try {
        await write(activity.current());
      } catch (error) {
        onError(error);
      }
      try {
        await clock.sleep(WRITE_MS, ending.signal);
      } catch (error) {
        if (!ending.signal.aborted) throw error;
      }
    }
    isWriting = false;
  };
  const change = () => {
    isChanged = true;
    if (isWriting) return;
    isWriting = true;
    void writeChanges();
  };
  return {
    watch(entry) {
      if (entry.type === 'closed') return ending.abort();
      if (entry.type !== 'working' && entry.type !== 'resting' && entry.type !== 'ended') return;
      activity.watch(entry);
      change();
    },
    current: activity.current,
  };
}
