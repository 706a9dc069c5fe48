import { Button, Code, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import { overview, pendingRequests } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { notify } from '../parts/notify.ts';

/**
 * Requests a backup of one repository, or of all (null), and shows the request until a run claims it. The worker picks
 * requests up in its next run.
 */
export function BackUpNow({ target }: { target: string | null }) {
  const queries = useQueryClient();
  const { data } = useQuery(pendingRequests);
  const pending = data?.data.find(
    ({ target_repo }) => target_repo?.toLowerCase() === target?.toLowerCase(),
  );
  const change = useMutation({
    mutationFn: async () => {
      if (pending === undefined) {
        await api.POST('/api/run-requests', { body: { target_repo: target, reason: '' } });
      } else {
        const params = { path: { id: pending.id } };
        await api.DELETE('/api/run-requests/{id}', { params });
      }
    },
    onError: ({ message }) => notify({ color: 'red', title: 'Something went wrong', message }),
    onSettled: () => queries.invalidateQueries({ queryKey: pendingRequests.queryKey }),
  });
  return (
    <Group gap="sm">
      {pending && (
        <Text size="sm" c="dimmed" role="status">
          Requested <Age of={pending.created_at} />; <NextRun />
        </Text>
      )}
      <Button
        variant={pending ? 'default' : 'filled'}
        loading={change.isPending}
        onClick={() => change.mutate()}
      >
        {pending ? 'Withdraw request' : target === null ? 'Back up all now' : 'Back up now'}
      </Button>
    </Group>
  );
}

/** When the worker will pick up the request. Without a known schedule, someone may have to start the run. */
function NextRun() {
  const { data } = useQuery(overview);
  if (data?.runs_start_here) {
    return <>{data.running === null ? 'the run starts now' : 'it follows the run under way'}.</>;
  }
  const expected = data?.next_run_expected_at ?? null;
  if (expected !== null) {
    return (
      <>
        the worker will pick it up in its next run, expected <Age of={expected} />.
      </>
    );
  }
  return (
    <>
      the worker will pick it up in its next run. No schedule is known yet; start a run with{' '}
      <Code>npm run worker -- run</Code>
    </>
  );
}
