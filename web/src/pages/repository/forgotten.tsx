import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, body, type Schemas } from '../../api/client.ts';
import type { RepositoryPath } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { Failure } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';

function useForgetting(path: RepositoryPath, isForgetting: boolean) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => {
      const request = { params: { path } };
      return body(
        isForgetting
          ? api.POST('/api/repos/{owner}/{name}/forget', request)
          : api.DELETE('/api/repos/{owner}/{name}/forget', request),
      );
    },
    onSuccess: async () => {
      notify({
        message: isForgetting ? 'Forgotten. Its backups are kept.' : 'Tracked again.',
      });
      await Promise.all(
        ['repository', 'repositories', 'incidents', 'overview'].map((key) =>
          client.invalidateQueries({ queryKey: [key] }),
        ),
      );
    },
  });
}

/** Forgets a repository that was removed on purpose, once the user has read what that means. */
export function Forget({ path }: { path: RepositoryPath }) {
  const [isOpen, dialog] = useDisclosure();
  const forget = useForgetting(path, true);
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
          <Text size="sm">Its backups are kept, and can still be restored.</Text>
          {forget.error && <Failure error={forget.error} />}
          <Group justify="end">
            <Button variant="default" onClick={dialog.close}>
              Cancel
            </Button>
            <Button loading={forget.isPending} onClick={() => forget.mutate()} data-autofocus>
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
}: {
  path: RepositoryPath;
  forgotten: NonNullable<Schemas['RepositoryDetails']['forgotten']>;
}) {
  const remember = useForgetting(path, false);
  return (
    <Alert color="gray" title="Forgotten">
      <Stack gap="xs" align="start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          Forgotten <Age of={at} /> by <bdi>{by}</bdi>. Alerts and counts leave it out until a run
          backs it up or fails to. Its backups are kept.
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
