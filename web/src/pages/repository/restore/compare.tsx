import {
  Anchor,
  Code,
  Group,
  Modal,
  NativeSelect,
  ScrollArea,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../../../api/client.ts';
import { comparison, fileComparison, type RepositoryPath, versions } from '../../../api/queries.ts';
import { Age } from '../../../parts/age.tsx';
import { formatBytes, formatCount, formatTime } from '../../../parts/format.ts';
import { Loaded } from '../../../parts/loading.tsx';
import classes from './compare.module.css';

const SHOWN = 100;
/** How many other versions are offered to compare with. */
const OFFERED = 100;

type Comparison = Schemas['Comparison'];

/** What changed in a version since another one, by default the one before it. */
export function CompareVersions({ path, version }: { path: RepositoryPath; version: number }) {
  const [from, setFrom] = useState<number | null>(null);
  const [file, setFile] = useState<string | null>(null);
  const others = useQuery(versions(path, { page: 1, limit: OFFERED, pruned: false }));
  const query = useQuery(
    comparison(path, { to: version, limit: SHOWN, ...(from === null ? {} : { from }) }),
  );
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="end">
        <Title order={2} size="h4">
          What changed
        </Title>
        <NativeSelect
          label="Compared with"
          value={from ?? ''}
          onChange={({ currentTarget: { value } }) => setFrom(value === '' ? null : Number(value))}
          data={[
            { value: '', label: 'the version before' },
            ...(others.data?.data ?? [])
              .filter((other) => other.version !== version)
              .map((other) => ({
                value: String(other.version),
                label: `version ${other.version}, ${formatTime(other.created_at)}`,
              })),
          ]}
        />
      </Group>
      <Loaded query={query} lines={4}>
        {(found) => <Changes found={found} onFile={setFile} />}
      </Loaded>
      <Modal
        opened={file !== null}
        onClose={() => setFile(null)}
        title={<bdi style={{ overflowWrap: 'anywhere' }}>{file}</bdi>}
        size="xl"
      >
        {file !== null && (
          <FileChange
            path={path}
            of={{ to: version, ...(from === null ? {} : { from }) }}
            file={file}
          />
        )}
      </Modal>
    </Stack>
  );
}

const signs = { added: '+', moved: '~', changed: '~', removed: '−' } as const;

function Changes({ found, onFile }: { found: Comparison; onFile(path: string): void }) {
  const { from, refs, commits, files } = found;
  const isEqual =
    refs.data.length + files.data.length + commits.added.count + commits.removed.count === 0;
  return (
    <Stack gap="md">
      {from === null && (
        <Text size="sm">It is the first version that is kept, so all of it is new.</Text>
      )}
      {isEqual && <Text c="dimmed">Nothing: both have the same branches, tags and files.</Text>}
      <Commits title="New commits" list={commits.added} />
      <Commits title="Commits that are no longer there" list={commits.removed} />
      <Part title="Branches and tags" count={refs.added + refs.moved + refs.removed} list={refs}>
        {refs.data.map(({ name, change, from_id, to_id }) => (
          <Entry key={name} change={change} aside={ids(from_id, to_id)}>
            <bdi>{name}</bdi>
          </Entry>
        ))}
      </Part>
      <Part title="Files" count={files.added + files.changed + files.removed} list={files}>
        {files.data.map(({ path, change, type }) => (
          <Entry key={path} change={change} aside={type === 'file' ? null : type}>
            {type === 'submodule' ? (
              <bdi>{path}</bdi>
            ) : (
              <Anchor component="button" ta="left" size="sm" onClick={() => onFile(path)}>
                <bdi>{path}</bdi>
              </Anchor>
            )}
          </Entry>
        ))}
      </Part>
    </Stack>
  );
}

function ids(from: string | null, to: string | null): string {
  const [before, after] = [from?.slice(0, 10), to?.slice(0, 10)];
  if (before === undefined) return after ?? '';
  return after === undefined ? before : `${before} → ${after}`;
}

function Commits({ title, list }: { title: string; list: Comparison['commits']['added'] }) {
  return (
    <Part title={title} count={list.count} list={list}>
      {list.data.map(({ id, at, author, subject }) => (
        <Table.Tr key={id}>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>
            <bdi>{subject || '(no message)'}</bdi>
            <Text size="xs" c="dimmed">
              <bdi>{author}</bdi>, <Age of={at} />
            </Text>
          </Table.Td>
          <Table.Td ta="right">
            <Code title={id}>{id.slice(0, 10)}</Code>
          </Table.Td>
        </Table.Tr>
      ))}
    </Part>
  );
}

interface PartProps {
  title: string;
  count: number;
  list: { data: readonly unknown[]; truncated: boolean };
  children: ReactNode;
}

function Part({ title, count, list: { data, truncated }, children }: PartProps) {
  if (count === 0 && !truncated) return null;
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">
        {title} ({formatCount(count)})
      </Title>
      <Table aria-label={title}>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
      {truncated && (
        <Text size="sm" c="dimmed">
          Only the first {formatCount(data.length)} are shown; there may be more than were counted.
        </Text>
      )}
    </Stack>
  );
}

interface EntryProps {
  change: keyof typeof signs;
  aside: string | null;
  children: ReactNode;
}

function Entry({ change, aside, children }: EntryProps) {
  return (
    <Table.Tr>
      <Table.Td w={90} style={{ whiteSpace: 'nowrap' }}>
        <span aria-hidden="true">{signs[change]} </span>
        {change}
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {children}
        {aside !== null && (
          <Text size="xs" c="dimmed">
            {aside}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

interface FileChangeProps {
  path: RepositoryPath;
  of: { from?: number; to: number };
  file: string;
}

function FileChange({ path, of, file }: FileChangeProps) {
  const query = useQuery(fileComparison(path, { ...of, path: file }));
  return (
    <Loaded query={query}>
      {(found) => (
        <Stack gap="xs">
          <Text size="sm" c="dimmed">
            {describeSizes(found)}
          </Text>
          <Difference found={found} />
        </Stack>
      )}
    </Loaded>
  );
}

function describeSizes({ from, to }: Schemas['FileComparison']): string {
  if (from === null) return `New, ${formatBytes(to?.size ?? 0)}`;
  if (to === null) return `No longer there; it had ${formatBytes(from.size)}`;
  return `${formatBytes(from.size)} before, ${formatBytes(to.size)} now`;
}

function Difference({ found: { kind, diff, truncated } }: { found: Schemas['FileComparison'] }) {
  if (kind === 'binary')
    return <Text>It is not a text file, so its lines cannot be compared.</Text>;
  if (kind === 'too_large' || diff === null) {
    return <Text>It is too large to be compared here. Download both versions of it.</Text>;
  }
  if (diff === '') return <Text>Its content is the same; only its mode changed.</Text>;
  return (
    <>
      <ScrollArea.Autosize mah="60vh" type="auto" viewportProps={{ tabIndex: 0 }}>
        <pre className={classes.difference}>
          {diff.split('\n').map((line, index) => (
            // Lines never move.
            // biome-ignore lint/suspicious/noArrayIndexKey: they have no other key
            <bdi key={index} data-change={changeOf(line)}>
              {line || ' '}
            </bdi>
          ))}
        </pre>
      </ScrollArea.Autosize>
      {truncated && <Text c="dimmed">The rest is not shown, because there is too much of it.</Text>}
    </>
  );
}

function changeOf(line: string): string {
  return { '+': 'added', '-': 'removed', '@': 'place' }[line.charAt(0)] ?? 'same';
}
