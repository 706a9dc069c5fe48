import { Alert, Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, body, type Schemas } from '../../../api/client.ts';
import { me, restores } from '../../../api/queries.ts';
import { Age } from '../../../parts/age.tsx';
import { countOf, formatBytes } from '../../../parts/format.ts';
import { Failure, Loaded } from '../../../parts/loading.tsx';

type Restore = Schemas['Restore'];

/** The newest restores of a repository, with the progress of those that run. */
export function RestoreList({ repository }: { repository: string }) {
  return (
    <Stack gap="xs" component="section" aria-label="Restores">
      <Title order={2} size="h4">
        Restores
      </Title>
      <Loaded query={useQuery(restores(repository))} lines={1}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">
              Nothing was restored here yet. Choose a version above to restore it.
            </Text>
          ) : (
            <Stack gap="xs">
              {data.map((one) => (
                <OneRestore key={one.id} restore={one} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Stack>
  );
}

const looks: Record<Restore['status'], { color: string; title: string }> = {
  waiting: { color: 'gray', title: 'Waits for its turn' },
  running: { color: 'blue', title: 'Running' },
  done: { color: 'teal', title: 'Restored and proved' },
  failed: { color: 'red', title: 'Not restored' },
  canceled: { color: 'gray', title: 'Canceled' },
  interrupted: { color: 'red', title: 'Interrupted' },
};

const steps: Record<NonNullable<Restore['step']>, string> = {
  unpacking: 'Unpacking and checking the archive',
  proving: 'Proving that nothing is missing',
  writing: 'Writing refs and files',
  pushing: 'Pushing',
};

function OneRestore({ restore }: { restore: Restore }) {
  const client = useQueryClient();
  const { data: user } = useQuery(me);
  const cancel = useMutation({
    mutationFn: () =>
      body(api.POST('/api/restores/{id}/cancel', { params: { path: { id: restore.id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: ['restores'] }),
  });
  const { status, error, restored, pushed, version, target } = restore;
  const { color, title } = looks[status];
  const isOpen = status === 'waiting' || status === 'running';
  return (
    <Alert color={color} title={title} role={isOpen ? 'status' : undefined}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {version === null ? 'The newest version' : `Version ${version}`}
        {restore.ref !== null && (
          <>
            , only <bdi>{restore.ref}</bdi>
          </>
        )}
        , to <bdi>{target}</bdi>, asked for by <bdi>{restore.requested_by}</bdi>{' '}
        <Age of={restore.created_at} />
      </Text>
      {status === 'running' && <Doing restore={restore} />}
      {error !== null && (
        <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
          {error}
        </Text>
      )}
      {status === 'done' && restored !== null && (
        <Text size="sm" mt={4}>
          {countOf(restored.refs, 'branch or tag', 'branches and tags')} from{' '}
          {formatBytes(restored.size_bytes)}
          {restored.is_recorded ? '' : '; no SHA-256 of the archive is recorded'}
          {restored.unwritten > 0 &&
            `; ${countOf(restored.unwritten, 'file is', 'files are')} only in the history, because the disk rejects their names`}
          {pushed !== null &&
            pushed.left_out > 0 &&
            `; ${countOf(pushed.left_out, 'other ref was', 'other refs were')} not pushed, because hosts do not accept them`}
          {pushed?.has_default_branch === false &&
            '; set the default branch in the settings of the repository'}
          .
        </Text>
      )}
      {isOpen && user?.is_admin !== false && (
        <Group mt="xs">
          <Button
            size="xs"
            variant="default"
            loading={cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            Cancel
          </Button>
        </Group>
      )}
      {cancel.error && <Failure error={cancel.error} />}
    </Alert>
  );
}

function Doing({ restore: { step, files, files_done } }: { restore: Restore }) {
  const doing = step === null ? 'Starting' : steps[step];
  const isCounted = step === 'unpacking' && files !== null && files_done !== null && files > 0;
  return (
    <Stack gap={4} mt={4}>
      <Text size="sm">
        {doing}
        {isCounted && `: ${files_done} of ${countOf(files, 'file', 'files')}`}
      </Text>
      {isCounted && (
        <Progress value={(files_done / files) * 100} aria-label="Files of the archive unpacked" />
      )}
    </Stack>
  );
}
