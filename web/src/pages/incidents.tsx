import { SegmentedControl, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type IncidentState, incidents } from '../api/queries.ts';
import { Empty } from '../parts/empty.tsx';
import { Loaded } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { Pages } from '../parts/pages.tsx';
import { AddChannelLink, IncidentList } from './incident-list.tsx';
import { TellingNow } from './telling-now.tsx';

const choices = [
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];

/** The open or the resolved incidents, and who was notified of them. */
export function IncidentsPage() {
  const { page = 1, state = 'open' } = useSearch({ from: '/shell/incidents' });
  const navigate = useNavigate({ from: '/incidents' });
  return (
    <Page
      title="Incidents"
      aside={
        <SegmentedControl
          aria-label="State of incidents"
          data={choices}
          value={state}
          onChange={(value) => void navigate({ search: { state: value as IncidentState } })}
        />
      }
    >
      {state === 'open' && <TellingNow />}
      <Loaded query={useQuery(incidents({ page, state }))} lines={6}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <NoIncidents state={state} />
          ) : (
            <Stack gap="md">
              <IncidentList incidents={data} />
              <Pages
                of={pagination}
                onChange={(next) => void navigate({ search: { state, page: next } })}
              />
            </Stack>
          )
        }
      </Loaded>
    </Page>
  );
}

function NoIncidents({ state }: { state: IncidentState }) {
  if (state === 'resolved') {
    return (
      <Empty title="No resolved incidents yet">Incidents appear here once they are resolved.</Empty>
    );
  }
  return (
    <Empty title="No open incidents">
      Runs, repositories, stores, the login and the disk are checked after each run and every 10
      minutes. To be notified of problems, <AddChannelLink>add a channel</AddChannelLink>.
    </Empty>
  );
}
