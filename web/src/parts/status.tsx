import { Badge } from '@mantine/core';
import type { Schemas } from '../api/client.ts';

/** The outcome of a run or a result, as a word and a color. */
export interface Outcome {
  word: string;
  color: string;
}

/** A completed run is only good if no repository failed, and each source was read. */
export function outcomeOfRun(
  { status, failed, is_stopped }: Pick<Schemas['BackupRun'], 'status' | 'failed' | 'is_stopped'>,
  unread: number,
): Outcome {
  if (status === 'running') return { word: 'Running', color: 'blue' };
  if (is_stopped) return { word: 'Stopped', color: 'gray' };
  if (status === 'failed') return { word: 'Failed', color: 'red' };
  return failed > 0 || unread > 0
    ? { word: 'With failures', color: 'orange' }
    : { word: 'Good', color: 'teal' };
}

const results: Record<Schemas['BackupResult']['status'], Outcome> = {
  completed: { word: 'Backed up', color: 'teal' },
  success: { word: 'Backed up', color: 'teal' },
  failed: { word: 'Failed', color: 'red' },
  too_large: { word: 'Too large', color: 'orange' },
  empty: { word: 'Empty', color: 'gray' },
};

export function outcomeOfResult(status: Schemas['BackupResult']['status']): Outcome {
  return results[status];
}

const states: Record<Schemas['TrackedRepository']['state'], Outcome> = {
  good: { word: 'Good', color: 'teal' },
  stale: { word: 'Stale', color: 'orange' },
  failing: { word: 'Failing', color: 'red' },
  lost: { word: 'Lost at its source', color: 'grape' },
  never: { word: 'Never backed up', color: 'red' },
  gone: { word: 'Archive gone', color: 'red' },
};

export function outcomeOfState(state: Schemas['TrackedRepository']['state']): Outcome {
  return states[state];
}

const drills: Record<Schemas['RestoreDrill']['outcome'], Outcome> = {
  proven: { word: 'Proven', color: 'teal' },
  failed: { word: 'Failed', color: 'red' },
  incomplete: { word: 'Incomplete', color: 'orange' },
};

export function outcomeOfDrill(outcome: Schemas['RestoreDrill']['outcome']): Outcome {
  return drills[outcome];
}

export function OutcomeBadge({ outcome: { word, color } }: { outcome: Outcome }) {
  return (
    <Badge color={color} variant="light" miw="max-content">
      {word}
    </Badge>
  );
}
