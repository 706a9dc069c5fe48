import { Accordion, Alert, Anchor, Badge, Group, Stack, Switch, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { type RepositoryPath, versions } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { Command, quoted } from '../../parts/command.tsx';
import { countOf, formatBytes, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Pages } from '../../parts/pages.tsx';
import { describeKept, type Kept } from './kept.ts';
import { VersionRefs } from './version-refs.tsx';

const PAGE_SIZE = 10;

type Version = Schemas['ArchiveVersion'];

/** The states of the repository that can be restored, newest first. */
export function RepositoryVersions({ path, kept }: { path: RepositoryPath; kept: Kept }) {
  const [page, setPage] = useState(1);
  const [pruned, setPruned] = useState(false);
  const [open, setOpen] = useState<string | null>(null);
  const query = useQuery(versions(path, { page, limit: PAGE_SIZE, pruned }));
  const hasVersions = pruned || (query.data?.pagination.total_items ?? 0) > 0;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Versions
        </Title>
        {hasVersions && (
          <Switch
            label="Include pruned versions"
            checked={pruned}
            onChange={({ currentTarget }) => {
              setPruned(currentTarget.checked);
              setPage(1);
            }}
          />
        )}
      </Group>
      <Loaded query={query} lines={3}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <Text c="dimmed">
              No versions yet. The next run that finds a change creates the first one, and from then
              on every earlier state can be restored.
            </Text>
          ) : (
            <>
              <Accordion variant="contained" order={3} value={open} onChange={setOpen}>
                {data.map((version) => (
                  <Accordion.Item key={version.version} value={String(version.version)}>
                    <Accordion.Control>
                      <Summary version={version} />
                    </Accordion.Control>
                    <Accordion.Panel>
                      {open === String(version.version) && (
                        <Details path={path} version={version} kept={kept} />
                      )}
                    </Accordion.Panel>
                  </Accordion.Item>
                ))}
              </Accordion>
              <Pages
                of={pagination}
                onChange={(page) => {
                  setPage(page);
                  setOpen(null);
                }}
              />
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}

function Summary({ version }: { version: Version }) {
  const { warning, pruned_at } = version;
  const shade = pruned_at === null ? undefined : 'dimmed';
  return (
    <Group justify="space-between" gap="0 var(--mantine-spacing-xs)">
      <Group gap="xs">
        <Text fw={600} c={shade}>
          Version {version.version}
        </Text>
        <Text size="sm" c={shade}>
          <Age of={version.created_at} />
        </Text>
        {warning !== null && (
          <Badge color="orange" variant="light">
            Warning
          </Badge>
        )}
        {pruned_at !== null && (
          <Badge color="gray" variant="light">
            Pruned
          </Badge>
        )}
      </Group>
      <Text size="sm" c="dimmed" pe="xs">
        {countOf(version.ref_count, 'ref', 'refs')}
        {version.new_bytes !== null && `, ${formatBytes(version.new_bytes)} new`}
      </Text>
    </Group>
  );
}

interface DetailsProps {
  path: RepositoryPath;
  version: Version;
  kept: Kept;
}

function Details({ path, version, kept }: DetailsProps) {
  const { warning, pruned_at, head_branch, run_id } = version;
  return (
    <Stack gap="sm">
      {warning !== null && (
        <Alert color="orange" title="This version differs a lot from the previous one">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {warning}
          </Text>
        </Alert>
      )}
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        Created {formatTime(version.created_at)}
        {run_id !== null && (
          <>
            {' '}
            by{' '}
            <Anchor component={Link} to={`/runs/${run_id}`} inherit underline="always">
              run #{run_id}
            </Anchor>
          </>
        )}
        {head_branch !== null && (
          <>
            , default branch <bdi>{head_branch}</bdi>
          </>
        )}
        . The archive had {countOf(version.files, 'file', 'files')} and{' '}
        {formatBytes(version.size_bytes)}.
      </Text>
      {pruned_at === null ? (
        <>
          <HowToRestore path={path} version={version.version} kept={kept} />
          <VersionRefs path={path} version={version.version} />
        </>
      ) : (
        <Text size="sm">
          Retention pruned it <Age of={pruned_at} />, so it can no longer be restored.
        </Text>
      )}
    </Stack>
  );
}

/** The command that restores a version, from the archive folder or, if the archive is gone, from a store. */
function HowToRestore({
  path,
  version,
  kept,
}: Omit<DetailsProps, 'version'> & { version: number }) {
  // Where the page's server finds no archive, the worker may still have it: its own look counts.
  const isLost = kept.state === 'missing';
  if (isLost && kept.copies === 0) {
    return (
      <Text size="sm" fw={600}>
        It cannot be restored. {describeKept(kept)}
      </Text>
    );
  }
  const store = isLost ? ' --from STORE' : '';
  return (
    <>
      <Text size="sm">
        {isLost
          ? 'The archive is gone from the archive folder. Restore from a store that has this version, with its address as STORE (see Copies):'
          : 'Restore it on the worker’s machine, in the Backup Observatory folder:'}
      </Text>
      <Command>{restoreCommand(path, version, store)}</Command>
    </>
  );
}

function restoreCommand({ owner, name }: RepositoryPath, version: number, from: string): string {
  const folder = `./${name.split('/').at(-1)}-version-${version}`;
  return `npm run worker -- restore${from} ${quoted(`${owner}/${name}`)} --version ${version} --to ${quoted(folder)}`;
}
