import { Alert, Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, type Schemas } from '../../api/client.ts';
import { type RepositoryPath, refreshTracked } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { Failure } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';
import { describeKept, isNothingKept, type Kept } from './kept.ts';

function useForgetting(path: RepositoryPath, isForgetting: boolean, nothingKept = false) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => {
      const query = nothingKept ? { nothing_kept: true } : {};
      return body(
        isForgetting
          ? api.POST('/api/repos/{owner}/{name}/forget', { params: { path, query } })
          : api.DELETE('/api/repos/{owner}/{name}/forget', { params: { path } }),
      );
    },
    onSuccess: async () => {
      notify({
        message: isForgetting ? 'Forgotten.' : 'Tracked again.',
      });
      await refreshTracked(client);
    },
  });
}

/** Forgets a repository that was removed on purpose, once the user has read what that means. */
export function Forget({
  path,
  kept,
  isGone,
}: {
  path: RepositoryPath;
  kept: Kept;
  /** Whether the server looked, and found no archive. */
  isGone: boolean;
}) {
  const [isOpen, dialog] = useDisclosure();
  const [isConfirmed, setConfirmed] = useState(false);
  const nothing = isNothingKept(kept, isGone);
  const forget = useForgetting(path, true, nothing);
  return (
    <>
      <Button size="compact-sm" variant="default" mt="xs" onClick={dialog.open}>
        Forget this repository
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialog.close}
        title={
          <>
            Forget{' '}
            <bdi>
              {path.owner}/{path.name}
            </bdi>
            ?
          </>
        }
      >
        <Stack>
          <Text size="sm">
            Do this if it was removed on purpose. Runs, alerts and counts then leave it out until a
            run backs it up or fails to.
          </Text>
          <Text size="sm" c={nothing ? 'var(--mantine-color-red-light-color)' : undefined}>
            {describeKept(kept, isGone)}
          </Text>
          {nothing && (
            <Checkbox
              label="I know that nothing of it can be restored"
              checked={isConfirmed}
              onChange={({ currentTarget }) => setConfirmed(currentTarget.checked)}
            />
          )}
          {forget.error && <Failure error={forget.error} />}
          <Group justify="end">
            <Button variant="default" onClick={dialog.close}>
              Cancel
            </Button>
            <Button
              loading={forget.isPending}
              disabled={nothing && !isConfirmed}
              onClick={() => forget.mutate()}
              data-autofocus
            >
              Forget
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

/** Says who has forgotten the repository, and tracks it again on request. */
export function Forgotten({
  path,
  forgotten: { at, by },
  kept,
}: {
  path: RepositoryPath;
  /** What is kept of it, in a sentence. */
  kept: string;
  forgotten: NonNullable<Schemas['RepositoryDetails']['forgotten']>;
}) {
  const remember = useForgetting(path, false);
  return (
    <Alert color="gray" title="Forgotten">
      <Stack gap="xs" align="start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          Forgotten <Age of={at} /> by <bdi>{by}</bdi>. Alerts and counts leave it out until a run
          backs it up or fails to. {kept}
        </Text>
        {remember.error && <Failure error={remember.error} />}
        <Button
          size="compact-sm"
          variant="default"
          loading={remember.isPending}
          onClick={() => remember.mutate()}
        >
          Track it again
        </Button>
      </Stack>
    </Alert>
  );
}
