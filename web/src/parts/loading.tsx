import { Alert, Button, Code, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';

interface LoadedProps<Data> {
  query: UseQueryResult<Data, Error>;
  /** Lines of the skeleton that is shown while the first data loads. */
  lines?: number;
  children(data: Data): ReactNode;
}

/** Shows the data of a query, also while it is loaded again, and below the error if that fails. */
export function Loaded<Data>({ query, lines = 4, children }: LoadedProps<Data>) {
  const { data, error, refetch } = query;
  return (
    <Stack>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {data !== undefined && children(data)}
      {data === undefined && !error && (
        <Stack gap="sm" aria-busy="true" aria-label="Loading">
          {Array.from({ length: lines }, (_, line) => line).map((line) => (
            <Skeleton key={line} height={36} />
          ))}
        </Stack>
      )}
    </Stack>
  );
}

export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Alert color="red" title="Something went wrong" role="alert">
      <Group justify="space-between">
        <Text size="sm">
          {error.message}
          {requestId !== null && (
            <>
              {' '}
              (request ID <Code>{requestId}</Code>)
            </>
          )}
        </Text>
        {retry && (
          <Button size="xs" variant="light" color="red" onClick={retry}>
            Retry
          </Button>
        )}
      </Group>
    </Alert>
  );
}
