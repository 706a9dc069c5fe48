import { Badge, Button, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../../api/client.ts';
import { comparison, type RepositoryPath, versions } from '../../../api/queries.ts';
import { Age } from '../../../parts/age.tsx';
import { formatTime } from '../../../parts/format.ts';
import { Loaded } from '../../../parts/loading.tsx';
import { Pages } from '../../../parts/pages.tsx';
import { RecordTable } from '../../../parts/record-table.tsx';
import { describeChanges } from './describe-changes.ts';

const PAGE_SIZE = 10;

interface ChooseVersionProps {
  path: RepositoryPath;
  chosen: number | null;
  onChoose(version: number): void;
}

/** The versions with their dates and what changed in each, to choose one of. */
export function ChooseVersion({ path, chosen, onChoose }: ChooseVersionProps) {
  const [page, setPage] = useState(1);
  const [until, setUntil] = useState('');
  const time = until === '' ? null : new Date(until);
  const isTime = time !== null && !Number.isNaN(time.getTime());
  const selection = isTime ? { until: time.toISOString() } : {};
  const query = useQuery(versions(path, { page, limit: PAGE_SIZE, pruned: false, ...selection }));
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="end">
        <Title order={2} size="h4">
          Choose a version
        </Title>
        <TextInput
          type="datetime-local"
          label="Made at or before"
          value={until}
          onChange={({ currentTarget }) => {
            setUntil(currentTarget.value);
            setPage(1);
          }}
        />
      </Group>
      <Loaded query={query} lines={4}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <Text c="dimmed">
              {isTime
                ? 'No version that can be restored is that old.'
                : 'No versions yet. The next run that finds a change creates the first one.'}
            </Text>
          ) : (
            <>
              <RecordTable
                minWidth={600}
                heads={['Version', 'Made', 'Changed since the version before']}
                aria-label="Versions that can be restored"
              >
                {data.map((version) => (
                  <Row
                    key={version.version}
                    path={path}
                    version={version}
                    isChosen={version.version === chosen}
                    onChoose={onChoose}
                  />
                ))}
              </RecordTable>
              <Pages of={pagination} onChange={setPage} />
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}

interface RowProps {
  path: RepositoryPath;
  version: Schemas['ArchiveVersion'];
  isChosen: boolean;
  onChoose(version: number): void;
}

function Row({ path, version: { version, created_at, warning }, isChosen, onChoose }: RowProps) {
  const { data, error } = useQuery(comparison(path, { to: version, limit: 0 }));
  return (
    <Table.Tr>
      <Table.Td>
        <Button
          size="compact-sm"
          variant={isChosen ? 'filled' : 'default'}
          aria-pressed={isChosen}
          onClick={() => onChoose(version)}
        >
          Version {version}
        </Button>
      </Table.Td>
      <Table.Td>
        {formatTime(created_at)}, <Age of={created_at} />
      </Table.Td>
      <Table.Td>
        {data ? describeChanges(data) : (error?.message ?? 'Comparing…')}
        {warning !== null && (
          <Badge color="orange" variant="light" ml="xs">
            Warning
          </Badge>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
