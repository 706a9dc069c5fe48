import { Alert, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../../api/client.ts';
import { type RepositoryPath, stores } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { countOf } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';

type Store = Schemas['RepositoryStores']['data'][number];

/** The off-site stores of the archive, those that fail or are behind first. */
export function RepositoryStores({ path }: { path: RepositoryPath }) {
  return (
    <Stack gap="xs" component="section" aria-label="Off-site">
      <Title order={2} size="h4">
        Off-site
      </Title>
      <Loaded query={useQuery(stores(path))} lines={1}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">
              It is not stored anywhere else. Set <Code>BACKUP_STORES</Code> for the worker to keep
              a second copy; <Code>docs/off-site.md</Code> says how.
            </Text>
          ) : (
            <Stack gap="xs">
              {data.map((store) => (
                <OneStore key={store.store} store={store} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Stack>
  );
}

function OneStore({ store }: { store: Store }) {
  const { failing_since, versions_behind, unused_since } = store;
  if (unused_since !== null) return <UnusedStore store={store} since={unused_since} />;
  if (failing_since !== null) return <FailingStore store={store} since={failing_since} />;
  if (versions_behind !== null && versions_behind > 0)
    return <StoreBehind store={store} versions={versions_behind} />;
  return (
    <Paper withBorder p="md" radius="md">
      <Stored store={store} />
    </Paper>
  );
}

function UnusedStore({ store, since }: { store: Store; since: string }) {
  return (
    <Alert color="gray" title="This store is no longer configured">
      <Text size="sm" mb="xs">
        Since a run <Age of={since} />, it is no longer in <Code>BACKUP_STORES</Code> and gets no
        new versions. What is in it can still be restored.
      </Text>
      <Stored store={store} />
    </Alert>
  );
}

function StoreBehind({ store, versions }: { store: Store; versions: number }) {
  return (
    <Alert
      color="orange"
      title={`This store is ${countOf(versions, 'version', 'versions')} behind`}
    >
      <Text size="sm" mb="xs">
        The next run with this store in <Code>BACKUP_STORES</Code> stores the rest.
      </Text>
      <Stored store={store} />
    </Alert>
  );
}

function FailingStore({ store, since }: { store: Store; since: string }) {
  return (
    <Alert color="red" title="This store is failing">
      <Text size="sm" mb="xs" style={{ overflowWrap: 'anywhere' }}>
        {store.reason || 'No reason was recorded.'}
      </Text>
      <Text size="sm" mb="xs">
        First failed <Age of={since} />.
      </Text>
      <Stored store={store} />
    </Alert>
  );
}

/** The store, and the newest version in it. */
function Stored({ store: { store, version, stored_at } }: { store: Store }) {
  return (
    <Group justify="space-between" gap="0 var(--mantine-spacing-xs)">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <bdi>{store}</bdi>
      </Text>
      <Text size="sm">
        {stored_at === null ? (
          'nothing stored yet'
        ) : (
          <>
            {version === null ? 'stored' : `version ${version}, stored`} <Age of={stored_at} />
          </>
        )}
      </Text>
    </Group>
  );
}
