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
        message: isForgetting ? 'Forgotten. What was backed up is kept.' : 'Tracked again.',
      });
      await Promise.all(
        ['repository', 'repositories', 'incidents', 'overview'].map((key) =>
          client.invalidateQueries({ queryKey: [key] }),
        ),
      );
    },
  });
}

/** Gives up a repository that is gone on purpose, once the person has read what that means. */
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
            Do this if it is gone on purpose. Runs, alerts and counts leave it out until a run backs
            it up or fails to.
          </Text>
          <Text size="sm">What was backed up is kept, and can be restored.</Text>
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

/** Says that somebody has given it up, and takes that back. */
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
          Given up <Age of={at} /> by <bdi>{by}</bdi>. No alert names it, and it is counted nowhere,
          until a run backs it up or fails to. What was backed up is kept.
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
