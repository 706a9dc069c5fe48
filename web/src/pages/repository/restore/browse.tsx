import { Anchor, Button, Group, Modal, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, type Schemas } from '../../../api/client.ts';
import { archiveAddress, type RepositoryPath } from '../../../api/queries.ts';
import { formatBytes } from '../../../parts/format.ts';
import { Failure } from '../../../parts/loading.tsx';
import { FilePreview } from '../archive-files.tsx';

const PAGE_SIZE = 200;

interface BrowseProps {
  path: RepositoryPath;
  version: number;
}

type Entry = Schemas['ArchiveFiles']['entries'][number];

/** The files of a version, a folder at a time, to preview or download; folders as a zip. */
export function BrowseVersion({ path, version }: BrowseProps) {
  /** With a slash at its end; empty for the root. */
  const [folder, setFolder] = useState('');
  const [shown, setShown] = useState<Entry | null>(null);
  const query = useInfiniteQuery({
    queryKey: ['repository', path, 'versions', version, 'files', folder],
    queryFn: ({ pageParam }) => {
      const cursor = pageParam ? { cursor: pageParam } : {};
      const query = { version, path: folder, folders: true, limit: PAGE_SIZE, ...cursor };
      return body(api.GET('/api/repos/{owner}/{name}/archive/files', { params: { path, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const entries = query.data?.pages.flatMap((page) => page.entries) ?? [];
  const nameOf = ({ path }: Entry) => path.slice(path.startsWith(folder) ? folder.length : 0);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Crumbs name={path.name} folder={folder} onOpen={setFolder} />
        <Button component="a" variant="default" href={zipAddress(path, version, folder)} download>
          Download {folder === '' ? 'all files' : 'this folder'} as zip
        </Button>
      </Group>
      {query.error && <Failure error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Text c="dimmed">Reading the archive…</Text>}
      {query.isSuccess && entries.length === 0 && <Text c="dimmed">There is no file in it.</Text>}
      {entries.length > 0 && (
        <Table aria-label={`Files of version ${version}`}>
          <Table.Tbody>
            {entries.map((entry) => (
              <Table.Tr key={entry.path}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  {entry.type === 'directory' ? (
                    <Anchor
                      component="button"
                      ta="left"
                      onClick={() => setFolder(`${entry.path}/`)}
                    >
                      <bdi>{nameOf(entry)}</bdi>/
                    </Anchor>
                  ) : entry.type === 'file' ? (
                    <Anchor component="button" ta="left" onClick={() => setShown(entry)}>
                      <bdi>{nameOf(entry)}</bdi>
                    </Anchor>
                  ) : (
                    <>
                      <bdi>{nameOf(entry)}</bdi>{' '}
                      <Text span size="xs" c="dimmed">
                        {entry.type}
                      </Text>
                    </>
                  )}
                </Table.Td>
                <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
                  {entry.type === 'directory' ? '' : formatBytes(entry.size)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Load more
        </Button>
      )}
      <Modal
        opened={shown !== null}
        onClose={() => setShown(null)}
        title={<bdi style={{ overflowWrap: 'anywhere' }}>{shown?.path}</bdi>}
        size="xl"
      >
        {shown && <FilePreview path={path} file={shown} version={version} />}
      </Modal>
    </Stack>
  );
}

/** The folders above the open one, each of which opens. */
function Crumbs({
  name,
  folder,
  onOpen,
}: {
  name: string;
  folder: string;
  onOpen(folder: string): void;
}) {
  const parts = folder.split('/').slice(0, -1);
  const crumbs = [name, ...parts].map((part, at) => ({
    part,
    folder: at === 0 ? '' : `${parts.slice(0, at).join('/')}/`,
  }));
  return (
    <Group gap={4} component="nav" aria-label="Folder">
      {crumbs.map((crumb, at) => (
        <Group key={crumb.folder} gap={4}>
          {at > 0 && <span aria-hidden="true">/</span>}
          {crumb.folder === folder ? (
            <Text span fw={600} aria-current="location" style={{ overflowWrap: 'anywhere' }}>
              <bdi>{crumb.part}</bdi>
            </Text>
          ) : (
            <Anchor component="button" onClick={() => onOpen(crumb.folder)}>
              <bdi>{crumb.part}</bdi>
            </Anchor>
          )}
        </Group>
      ))}
    </Group>
  );
}

function zipAddress(path: RepositoryPath, version: number, folder: string): string {
  return `${archiveAddress(path)}/zip?${new URLSearchParams({ version: String(version), path: folder })}`;
}
