import { Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { incidentsOf } from '../../api/queries.ts';
import { IncidentList } from '../incident-list.tsx';

/** The open incidents that affect a repository, if any. */
export function RepositoryIncidents({ name }: { name: string }) {
  const { data } = useQuery(incidentsOf(name));
  if (!data || data.data.length === 0) return null;
  return (
    <Stack gap="xs" component="section" aria-label="Open incidents">
      <Title order={2} size="h4">
        Open incidents
      </Title>
      <IncidentList incidents={data.data} />
    </Stack>
  );
}
