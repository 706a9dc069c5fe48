import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import type { Session } from '../../api/chat.ts';
import { ApiError, api, body } from '../../api/client.ts';
import { Failure } from '../../parts/loading.tsx';

export function nameOf({ session_name }: Session): string {
  return session_name || 'Untitled';
}

interface DialogProps {
  session: Session;
  onClose(): void;
}

export function RenameDialog({ session, onClose }: DialogProps) {
  const queries = useQueryClient();
  const rename = useMutation({
    mutationFn: (session_name: string) =>
      api.PATCH('/sessions/{id}', {
        params: { path: { id: session.id } },
        body: { session_name },
      }),
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: ['chat', 'sessions'] });
      onClose();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    rename.mutate(String(new FormData(event.currentTarget).get('name')));
  };
  return (
    <Modal opened onClose={onClose} title="Rename the conversation">
      <form onSubmit={submit}>
        <Stack>
          {rename.error && <Failure error={rename.error} />}
          <TextInput
            name="name"
            label="Name"
            defaultValue={session.session_name}
            maxLength={200}
            required
            data-autofocus
          />
          <Group justify="end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={rename.isPending}>
              Rename
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** Asks before a conversation is deleted. `isOpen`: whether the page shows that conversation. */
export function DeleteDialog({ session, isOpen, onClose }: DialogProps & { isOpen: boolean }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteSession(session.id),
    async onSuccess() {
      onClose();
      if (isOpen) await navigate({ to: '/chat' });
      queries.removeQueries({ queryKey: ['chat', 'conversation', session.id] });
      await queries.invalidateQueries({ queryKey: ['chat', 'sessions'] });
    },
  });
  return (
    <Modal opened onClose={onClose} title="Delete the conversation?">
      <Stack>
        {remove.error && <Failure error={remove.error} />}
        <Text style={{ overflowWrap: 'anywhere' }}>
          This deletes <bdi>{nameOf(session)}</bdi> and all of its answers. It cannot be undone.
        </Text>
        <Group justify="end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            Delete
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Deletes a conversation. Its running turns are stopped first, because their answers could no longer be stored. */
async function deleteSession(id: string): Promise<void> {
  const { data: running } = await body(
    api.GET('/chat/turns', { params: { query: { session_id: id } } }),
  );
  for (const { request_id } of running) {
    // The turn may have ended by itself meanwhile.
    await api.POST('/chat/stop', { body: { session_id: id, request_id } }).catch(ignoreMissing);
  }
  await api.DELETE('/sessions/{id}', { params: { path: { id } } });
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 404) throw error;
}
