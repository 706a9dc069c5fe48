import { Anchor, Button, Group, Modal, ScrollArea, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, type Schemas } from '../../api/client.ts';
import { archiveAddress, type RepositoryPath } from '../../api/queries.ts';
import { FilteredRows, useFilter } from '../../parts/filtered-rows.tsx';
import { formatBytes } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';

const PAGE_SIZE = 100;
/** Larger files can only be downloaded. */
const MAX_PREVIEW_BYTES = 256 * 1024;

type File = Schemas['ArchiveFiles']['entries'][number];

/** The files of the default branch, to preview or download. */
export function ArchiveFiles({ path }: { path: RepositoryPath }) {
  const filter = useFilter();
  const prefix = filter.text;
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
    // The server unpacks the archive for every request.
    staleTime: 5 * 60_000,
  });
  const files = query.data?.pages.flatMap(({ entries }) => entries) ?? [];
  return (
    <>
      <FilteredRows
        filter={filter}
        label="Path starts with"
        maxLength={1_000}
        query={query}
        pending="Unpacking…"
        none="No path starts with that."
        name="Files of the archive"
      >
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
      </FilteredRows>
      <Modal
        opened={shown !== null}
        onClose={() => setShown(null)}
        title={<bdi style={{ overflowWrap: 'anywhere' }}>{shown?.path}</bdi>}
        size="xl"
      >
        {shown && <FilePreview path={path} file={shown} />}
      </Modal>
    </>
  );
}

/** A file to download, and its text if it is a small one. By default of the newest version. */
export function FilePreview({
  path,
  file,
  version,
}: {
  path: RepositoryPath;
  file: Pick<File, 'path' | 'size'>;
  version?: number;
}) {
  const ofVersion = version === undefined ? {} : { version };
  const isSmall = file.size <= MAX_PREVIEW_BYTES;
  const query = useQuery({
    queryKey: ['repository', path, 'file', file.path, version],
    queryFn: async () => {
      const params = { path, query: { path: file.path, ...ofVersion } };
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
          href={`${archiveAddress(path)}/file?${new URLSearchParams({ path: file.path, ...(version === undefined ? {} : { version: String(version) }) })}`}
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
              <Text c="dimmed">This is not a text file. Download it to open it.</Text>
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
        <Text c="dimmed">This file is too large to preview. Download it to open it.</Text>
      )}
    </Stack>
  );
}

/** The bytes as text. Null if they are not UTF-8, or contain a NUL as binary files do. */
function toText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8, which is a result and not a failure.
    return null;
  }
}
