import {
  Anchor,
  Button,
  Group,
  Modal,
  ScrollArea,
  Stack,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, type Schemas } from '../api/client.ts';
import { archiveAddress, type RepositoryPath } from '../api/queries.ts';
import { formatBytes } from '../parts/format.ts';
import { Failure, Loaded } from '../parts/loading.tsx';

const PAGE_SIZE = 100;
const TYPING_MS = 300;
/** Larger files are for downloading. */
const MAX_PREVIEW_BYTES = 256 * 1024;

type File = Schemas['ArchiveFiles']['entries'][number];

/** The files of the default branch, each to preview or to download. */
export function ArchiveFiles({ path }: { path: RepositoryPath }) {
  const [typed, setTyped] = useState('');
  const [prefix] = useDebouncedValue(typed, TYPING_MS);
  const [shown, setShown] = useState<File | null>(null);
  const query = useInfiniteQuery({
    queryKey: ['repository', path, 'files', prefix],
    queryFn: ({ pageParam }) => {
      const query = { path: prefix, limit: PAGE_SIZE, ...(pageParam ? { cursor: pageParam } : {}) };
      const params = { path, query };
      return body(api.GET('/api/repos/{owner}/{name}/archive/files', { params }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    retry: false,
  });
  const files = query.data?.pages.flatMap(({ entries }) => entries) ?? [];
  return (
    <Stack gap="sm">
      <TextInput
        label="Path starts with"
        value={typed}
        maxLength={1_000}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      {query.error && <Failure error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Text c="dimmed">Unpacking…</Text>}
      {query.isSuccess && files.length === 0 && <Text c="dimmed">No file starts with that.</Text>}
      {files.length > 0 && (
        <Table>
          <Table.Tbody>
            {files.map((file) => (
              <Table.Tr key={file.path}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  {file.type === 'file' ? (
                    <Anchor component="button" ta="left" onClick={() => setShown(file)}>
                      <bdi>{file.path}</bdi>
                    </Anchor>
                  ) : (
                    <bdi>{file.path}</bdi>
                  )}
                </Table.Td>
                <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
                  {formatBytes(file.size)}
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
          More
        </Button>
      )}
      <Modal
        opened={shown !== null}
        onClose={() => setShown(null)}
        title={<bdi style={{ overflowWrap: 'anywhere' }}>{shown?.path}</bdi>}
        size="xl"
      >
        {shown && <Preview path={path} file={shown} />}
      </Modal>
    </Stack>
  );
}

function Preview({ path, file }: { path: RepositoryPath; file: File }) {
  const isSmall = file.size <= MAX_PREVIEW_BYTES;
  const query = useQuery({
    queryKey: ['repository', path, 'file', file.path],
    queryFn: async () => {
      const params = { path, query: { path: file.path } };
      const bytes = await body(
        api.GET('/api/repos/{owner}/{name}/archive/file', { params, parseAs: 'arrayBuffer' }),
      );
      return toText(new Uint8Array(bytes));
    },
    enabled: isSmall,
    retry: false,
  });
  return (
    <Stack>
      <Group>
        <Button
          component="a"
          href={`${archiveAddress(path)}/file?path=${encodeURIComponent(file.path)}`}
          download
        >
          Download
        </Button>
        <Text size="sm" c="dimmed">
          {formatBytes(file.size)}
        </Text>
      </Group>
      {isSmall ? (
        <Loaded query={query}>
          {(text) =>
            text === null ? (
              <Text c="dimmed">This is not text. Download it to open it.</Text>
            ) : (
              <ScrollArea.Autosize mah="60vh" type="auto" viewportProps={{ tabIndex: 0 }}>
                <Text
                  component="pre"
                  ff="monospace"
                  size="xs"
                  style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}
                >
                  <bdi>{text}</bdi>
                </Text>
              </ScrollArea.Autosize>
            )
          }
        </Loaded>
      ) : (
        <Text c="dimmed">It is too large to be shown. Download it to open it.</Text>
      )}
    </Stack>
  );
}

/** Null if it is not UTF-8, or holds a NUL as binary files do. */
function toText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8, which is an answer and no failure.
    return null;
  }
}
