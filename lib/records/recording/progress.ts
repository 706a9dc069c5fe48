import { cleanText } from '../../text/clean-text.ts';

/** Maximum number of active repositories that are written. */
export const MAX_ACTIVE = 16;

const MAX_NAME_LENGTH = 255;
const MAX_PHASE_LENGTH = 100;

/** What a run is doing. Stored in this form, and read by the service API. */
export interface RunProgress {
  /** Received so far by the whole run. */
  bytes: number;
  /** Only the first 16 are written. */
  active: readonly ActiveRepository[];
}

/** A repository that is being backed up. */
export interface ActiveRepository {
  repository: string;
  /** As named by git, such as `Receiving objects`. */
  phase: string;
  /** Percentage of the phase, 0 to 100; null if git does not report it. */
  percent: number | null;
  /** Received so far; null if git does not report it. */
  bytes: number | null;
}

/** The progress as JSON that Postgres can store, of bounded size. */
export function formatProgress({ bytes, active }: RunProgress): string {
  return JSON.stringify({
    bytes: Math.round(bytes),
    active: active.slice(0, MAX_ACTIVE).map(({ repository, phase, percent, bytes }) => ({
      repository: cleanText(repository, MAX_NAME_LENGTH),
      phase: cleanText(phase, MAX_PHASE_LENGTH),
      percent: percent === null ? null : Math.round(Math.min(100, Math.max(0, percent))),
      bytes: bytes === null ? null : Math.round(bytes),
    })),
  });
}
