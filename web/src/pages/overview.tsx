import { Alert, Anchor, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Schemas } from '../api/client.ts';
import { me, overview as overviewQuery } from '../api/queries.ts';
import { Loaded } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { usePainted } from '../parts/use-painted.ts';
import { useServerNow } from '../parts/use-server-now.ts';
import { judge, type Verdict } from './verdict.ts';

// The sentence is read first. The rest is loaded once it has been painted.
const OverviewDetails = lazy(() => import('./overview-details.tsx'));
const NoBackups = lazy(async () => ({
  default: (await import('../parts/no-backups.tsx')).NoBackups,
}));
const Guide = lazy(async () => ({ default: (await import('./guide.tsx')).Guide }));
const VerdictIcon = lazy(() => import('./verdict-icon.tsx'));
const BackUpNow = lazy(async () => ({ default: (await import('./back-up-now.tsx')).BackUpNow }));

export function OverviewPage() {
  const overview = useQuery(overviewQuery);
  const hasRepositories = (overview.data?.repositories.total ?? 0) > 0;
  const { data: self } = useQuery(me);
  const isPainted = usePainted();
  return (
    <Page
      title="Overview"
      aside={
        isPainted &&
        hasRepositories && (
          <Suspense>
            <BackUpNow target={null} />
          </Suspense>
        )
      }
    >
      <Loaded query={overview} lines={6}>
        {(overview) =>
          overview.repositories.total === 0 && overview.running === null ? (
            <Suspense>{self?.is_admin === true ? <Guide /> : <NoBackups />}</Suspense>
          ) : (
            <Overview overview={overview} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Overview({ overview }: { overview: Schemas['Overview'] }) {
  const now = useServerNow();
  // The sentence comes first: the rest takes longer to render.
  const isPainted = usePainted();
  return (
    <Stack gap="lg">
      <VerdictBanner
        verdict={judge(overview, now)}
        incidents={overview.incidents.open}
        hasIcon={isPainted}
      />
      {isPainted && (
        <Suspense fallback={<Skeleton height={120} />}>
          <OverviewDetails overview={overview} />
        </Suspense>
      )}
    </Stack>
  );
}

const colors = { good: 'teal', bad: 'red', unsure: 'blue' };

/** The one sentence that sums up the state of the backups. */
function VerdictBanner({
  verdict: { state, sentence, run },
  incidents,
  hasIcon,
}: {
  verdict: Verdict;
  incidents: number;
  hasIcon: boolean;
}) {
  return (
    <Alert
      color={colors[state]}
      icon={<Suspense>{hasIcon && <VerdictIcon state={state} />}</Suspense>}
      role="status"
      aria-label="State of the backups"
    >
      <Group justify="space-between">
        <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
          <bdi>{sentence}</bdi>
        </Text>
        <Group gap="md">
          {incidents > 0 && (
            <Anchor component={Link} to="/incidents" size="sm" c="inherit" underline="always">
              See incidents
            </Anchor>
          )}
          {run !== null && (
            <Anchor component={Link} to={`/runs/${run}`} size="sm" c="inherit" underline="always">
              See run #{run}
            </Anchor>
          )}
        </Group>
      </Group>
    </Alert>
  );
}
