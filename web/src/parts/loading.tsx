import { Alert, Button, Code, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';

interface LoadedProps<Data> {
  query: UseQueryResult<Data, Error>;
  /** Lines of the skeleton while there is nothing to show. */
  lines?: number;
  children(data: Data): ReactNode;
}

/** Shows what a query has: also while it loads anew, and also beside the failure to. */
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
    <Alert color="red" title="That did not work" role="alert">
      <Group justify="space-between">
        <Text size="sm">
          {error.message}
          {requestId !== null && (
            <>
              {' '}
              (request <Code>{requestId}</Code>)
            </>
          )}
        </Text>
        {retry && (
          <Button size="xs" variant="light" color="red" onClick={retry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}
