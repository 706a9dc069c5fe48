import { Text } from '@mantine/core';
import type { Schemas } from '../api/client.ts';
import { Age } from './age.tsx';
import { formatCount, formatDuration } from './format.ts';

/** As the server measures it. */
const WINDOW_MS = 90 * 86_400_000;
/** Of results that are a little younger than the window, nobody needs to know. */
const SLACK_MS = 86_400_000;

/** What is wanted of a group of repositories, and how far that was attained. */
export function Attained({ objective }: { objective: Schemas['AttainedObjective'] }) {
  const { rpo_hours, rto_minutes, rpo, rto, repositories } = objective;
  return (
    <>
      {rpo !== null && (
        <Text size="sm">
          RPO {formatDuration((rpo_hours ?? 0) * 3_600_000)}: <Share of={rpo.attainment} />
          {rpo.attainment !== null && (
            <>
              , {formatCount(rpo.within_now)} of {formatCount(repositories)} within it now
            </>
          )}
          {isYoung(rpo.measured_since) && (
            <>
              , measured since <Age of={rpo.measured_since ?? ''} />
            </>
          )}
        </Text>
      )}
      {rto !== null && (
        <Text size="sm">
          RTO {formatDuration((rto_minutes ?? 0) * 60_000)}: <Share of={rto.attainment} />
          {rto.attainment !== null && (
            <>
              , {formatCount(rto.within)} of {formatCount(rto.drills)} restore drills
            </>
          )}
          {rto.slowest_ms !== null && <>, the slowest took {formatDuration(rto.slowest_ms)}</>}
        </Text>
      )}
    </>
  );
}

function Share({ of }: { of: number | null }) {
  if (of === null) return <>nothing measured yet</>;
  return (
    <Text span inherit fw={600} {...(of < 1 ? { c: 'var(--mantine-color-error)' } : {})}>
      {(of * 100).toFixed(2)} %
    </Text>
  );
}

function isYoung(since: string | null): boolean {
  return since !== null && Date.parse(since) > Date.now() - WINDOW_MS + SLACK_MS;
}
