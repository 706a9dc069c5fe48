import { Alert, Button, Code, Group, Menu, Stack, Table, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, body, type Schemas } from '../../api/client.ts';
import {
  archiveAddress,
  archiveFolder,
  archive as archiveQuery,
  type RepositoryPath,
} from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { Command, quoted } from '../../parts/command.tsx';
import { countOf, formatBytes, formatCount } from '../../parts/format.ts';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { ArchiveFiles } from './archive-files.tsx';

/** The archive of a repository: its contents, a check that it is whole, and how to restore from it. */
export function RepositoryArchive({ path, wasGood }: { path: RepositoryPath; wasGood: boolean }) {
  const query = useQuery(archiveQuery(path));
  const { error } = query;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Archive
      </Title>
      {error instanceof ApiError && (error.status === 404 || error.status === 503) ? (
        <Text c="dimmed">
          {error.status === 503
            ? 'The archive is on the worker’s machine, where this server cannot read it.'
            : wasGood
              ? 'The archive is not in the archive folder: it was moved or deleted. The next good backup recreates it.'
              : 'No archive yet. It appears after the first good backup.'}
        </Text>
      ) : (
        <Loaded query={query} lines={3}>
          {(archive) => <ArchiveDetails path={path} archive={archive} />}
        </Loaded>
      )}
    </Stack>
  );
}

function ArchiveDetails({ path, archive }: { path: RepositoryPath; archive: Schemas['Archive'] }) {
  const [showsFiles, setShowsFiles] = useState(false);
  const verify = useMutation({
    mutationFn: () =>
      body(api.POST('/api/repos/{owner}/{name}/archive/verify', { params: { path } })),
  });
  const { bundle, fault, files } = archive;
  const bytes = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return (
    <Stack gap="sm">
      {fault !== null && (
        <Alert color="red" title="The archive cannot be read">
          {fault}
        </Alert>
      )}
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <Code>{archive.archive}</Code>
        {files.length > 1 && (
          <> and {countOf(files.length - 1, 'file', 'files')} that continue it</>
        )}
        , {formatBytes(bytes)}, written <Age of={archive.modified_at} />
        {bundle && <>, {formatCount(bundle.ref_count)} branches, tags and other refs</>}
      </Text>
      <Group gap="sm">
        <Button loading={verify.isPending} onClick={() => verify.mutate()}>
          Verify
        </Button>
        <Download path={path} files={files} />
        <Button
          variant="default"
          aria-expanded={showsFiles}
          onClick={() => setShowsFiles(!showsFiles)}
        >
          {showsFiles ? 'Hide files' : 'Show files'}
        </Button>
      </Group>
      {verify.isPending && (
        <Text size="sm" role="status">
          Reading the whole archive…
        </Text>
      )}
      {verify.error && <Failure error={verify.error} />}
      {verify.data && <Proof check={verify.data} />}
      <Restore path={path} archive={archive} />
      {showsFiles && <ArchiveFiles path={path} />}
    </Stack>
  );
}

/** Downloads the archive: one link, or a menu with a link for each of its files. */
function Download({ path, files }: { path: RepositoryPath } & Pick<Schemas['Archive'], 'files'>) {
  const address = `${archiveAddress(path)}/bundle`;
  if (files.length <= 1) {
    return (
      <Button variant="default" component="a" href={address} download>
        Download
      </Button>
    );
  }
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default">Download</Button>
      </Menu.Target>
      <Menu.Dropdown mah="50vh" style={{ overflowY: 'auto' }}>
        <Menu.Label>The archive consists of all these files</Menu.Label>
        {files.map(({ name, size_bytes }) => (
          <Menu.Item
            key={name}
            component="a"
            href={`${address}?file=${encodeURIComponent(name)}`}
            download
          >
            <bdi>{name}</bdi>, {formatBytes(size_bytes)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

const verdicts: Record<string, { color: string; title: string }> = {
  VALID_UNCOMPROMISED: {
    color: 'teal',
    title: 'You can restore from this archive, and it matches the recorded checksum',
  },
  VALID_UNRECORDED: {
    color: 'orange',
    title: 'You can restore from this archive, but no checksum of it is recorded',
  },
};

const checks: [keyof Schemas['ArchiveCheck']['proof'], string][] = [
  ['checksum', 'SHA-256 matches the recorded one'],
  ['header', 'Header can be read'],
  ['pack_checksum', 'Pack matches its own checksum'],
  ['objects', 'Every object can be read'],
  ['history', 'Every object that is referenced exists'],
];

function Proof({ check }: { check: Schemas['ArchiveCheck'] }) {
  const { color, title } = verdicts[check.integrity_status] ?? {
    color: 'red',
    title: 'Do not rely on this archive',
  };
  return (
    <Alert color={color} title={title} role="status">
      {check.fault !== null && (
        <Text size="sm" mb="xs" style={{ overflowWrap: 'anywhere' }}>
          {check.fault}
        </Text>
      )}
      {check.remark !== null && (
        <Text size="sm" mb="xs" style={{ overflowWrap: 'anywhere' }}>
          {check.remark}
        </Text>
      )}
      {check.incomplete !== null && (
        <Text size="sm" mb="xs" style={{ overflowWrap: 'anywhere' }}>
          {check.incomplete}
        </Text>
      )}
      <Table withRowBorders={false} verticalSpacing={2} style={{ color: 'inherit' }}>
        <Table.Tbody>
          {checks.map(([key, what]) => (
            <Table.Tr key={key}>
              <Table.Td>{what}</Table.Td>
              <Table.Td>{check.proof[key].replaceAll('_', ' ')}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="xs" mt="xs" style={{ overflowWrap: 'anywhere' }}>
        SHA-256 {check.sha256_checksum}
      </Text>
    </Alert>
  );
}

/** The command that restores the repository on the server's machine. */
function Restore({ path, archive }: { path: RepositoryPath; archive: Schemas['Archive'] }) {
  const { data } = useQuery({ ...archiveFolder, staleTime: 60_000 });
  const folder = data?.archive_path;
  if (archive.format !== 'bundle') return null;
  const [first = archive.archive, ...increments] = archive.files.map(({ name }) => name);
  const target = quoted(`./${path.name.split('/').at(-1)}.git`);
  const command = [
    // After `--`, a name that begins with a hyphen is not taken for an option.
    `git clone --mirror -- ${quoted(folder === undefined ? first : `${folder}/${first}`)} ${target}`,
    ...increments.map((name) => {
      const file = quoted(`${folder ?? '..'}/${name}`);
      return `git -C ${target} fetch --prune ${file} '+refs/*:refs/*'`;
    }),
  ].join('\n');
  return (
    <Stack gap={4}>
      <Text size="sm">Restore every branch and tag with git alone, on the server’s machine:</Text>
      <Command>{command}</Command>
      <Text size="sm" c="dimmed">
        For a working copy, leave out <Code>--mirror</Code>. On another machine, download the
        archive first and use its path.
      </Text>
    </Stack>
  );
}
