import { SimpleGrid, Skeleton, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { metrics, OVERVIEW_DAYS } from '../api/queries.ts';
import { DayStrip } from '../parts/day-strip.tsx';
import { InView } from '../parts/in-view.tsx';
import { Loaded } from '../parts/loading.tsx';
import { outcomeOfRun } from '../parts/status.tsx';

// The charts are most of the page's code.
const DurationChart = lazy(() => import('../parts/duration-chart.tsx'));
const SizeChart = lazy(() => import('../parts/size-chart.tsx'));
const CHART_HEIGHT = 220;

/** The outcomes and durations of the last days' runs, and the size of all archives. */
export function LastRuns({ running }: { running: number | null }) {
  const query = useQuery(metrics(OVERVIEW_DAYS));
  useOnChange(running, query.refetch);
  return (
    <Loaded query={query} lines={6}>
      {({ runs }) => (
        <Stack gap="lg">
          <Stack gap="xs">
            <Title order={2} size="h4">
              Last {OVERVIEW_DAYS} days
            </Title>
            <DayStrip
              days={OVERVIEW_DAYS}
              events={runs.map((run) => ({
                at: run.started_at,
                run: run.id,
                outcome: outcomeOfRun(run, run.unread),
              }))}
            />
          </Stack>
          <SimpleGrid cols={{ base: 1, lg: 2 }}>
            <Chart title="Duration of runs">
              <DurationChart runs={runs} />
            </Chart>
            <Chart title="Size of all archives">
              <SizeChart />
            </Chart>
          </SimpleGrid>
        </Stack>
      )}
    </Loaded>
  );
}

/** A chart that is loaded once it is in view. */
function Chart({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {title}
      </Title>
      <InView height={CHART_HEIGHT}>
        <Suspense fallback={<Skeleton height={CHART_HEIGHT} />}>{children}</Suspense>
      </InView>
    </Stack>
  );
}

/** Calls a function when a run begins or ends, so that the days and charts show it too. */
function useOnChange(running: number | null, onChange: () => unknown): void {
  const before = useRef(running);
  useEffect(() => {
    if (before.current !== running) onChange();
    before.current = running;
  }, [running, onChange]);
}
