import { Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { allAnomalies } from '../api/queries.ts';
import { Empty } from '../parts/empty.tsx';
import { Loaded } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { Pages } from '../parts/pages.tsx';
import { Anomalies } from './anomalies.tsx';

/** The anomalies of all repositories: those to confirm, or all. */
export function AnomaliesPage() {
  const { page = 1, all } = useSearch({ from: '/shell/anomalies' });
  const navigate = useNavigate({ from: '/anomalies' });
  const query = useQuery(allAnomalies({ page, ...(all ? {} : { open: true }) }));
  return (
    <Page
      title="Anomalies"
      aside={
        <Switch
          label="Confirmed ones too"
          checked={all === true}
          onChange={({ currentTarget: { checked } }) =>
            void navigate({ search: checked ? { all: true } : {} })
          }
        />
      }
    >
      <Loaded query={query} lines={6}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <Empty title={all ? 'No anomalies' : 'Nothing to confirm'}>
              A version that differs from the one before it in a way that may be a loss is listed
              here: rewritten or deleted branches and tags, a repository that shrank, and the like.
            </Empty>
          ) : (
            <>
              <Anomalies anomalies={data} isLinked />
              <Pages
                of={pagination}
                onChange={(page) => void navigate({ search: (now) => ({ ...now, page }) })}
              />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
