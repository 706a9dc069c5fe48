import { Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { coverage as coverageQuery } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { countOf, formatCount } from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { Pages } from '../parts/pages.tsx';

type Gap = Schemas['Coverage']['data'][number]['gap'];

const words: Record<Gap, string> = {
  excluded: 'excluded',
  disabled: 'disabled by the git host',
  invalid_name: 'invalid name',
  destination: 'archives are pushed to it',
  suspended: 'the app is suspended on this account',
  not_installed: 'the app is not installed on this account',
  lost: 'lost at its source',
  empty: 'empty',
  no_permission: 'no permission',
  failing: 'failing',
  never: 'never backed up',
  gone: 'archive gone, nothing kept',
  stale: 'stale',
  pending: 'not tried yet',
};

/** How many repositories the login could see, and why some of them are not backed up. */
export function Coverage() {
  const [page, setPage] = useState(1);
  return (
    <Stack gap="xs" component="section" aria-label="Coverage">
      <Title order={2} size="h4">
        Coverage
      </Title>
      <Loaded query={useQuery(coverageQuery(page))} lines={2}>
        {({ seen_at, seen, backed_up, data, pagination }) =>
          seen_at === null ? (
            <Text c="dimmed">
              No run has listed the repositories of a git host yet. A run without --source does.
            </Text>
          ) : (
            <>
              <Text size="sm">
                {formatCount(backed_up)} of {countOf(seen, 'repository', 'repositories')} that the
                login could see <Age of={seen_at} /> {backed_up === 1 ? 'is' : 'are'} backed up.
              </Text>
              {data.length > 0 && <Gaps gaps={data} />}
              <Pages of={pagination} onChange={setPage} />
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}

function Gaps({ gaps }: { gaps: Schemas['Coverage']['data'] }) {
  return (
    <Table verticalSpacing="xs" aria-label="Not backed up">
      <Table.Tbody>
        {gaps.map(({ name, gap, reason }) => (
          <Table.Tr key={name}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <Group gap="xs" justify="space-between">
                <Text size="sm">
                  <bdi>{name}</bdi>
                </Text>
                <Text size="sm">{words[gap]}</Text>
              </Group>
              {reason && (
                <Text size="xs" c="dimmed" lineClamp={2}>
                  {reason}
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
