import { Button, Group, Modal, Stack } from '@mantine/core';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';

interface ActionDialogProps {
  title: string;
  action: string;
  isDestructive?: boolean;
  act(): Promise<void>;
  /** The notification after success. */
  done: string;
  /** The query to refresh afterwards. */
  changes: QueryKey;
  close(): void;
  children: ReactNode;
}

/** A dialog that carries out an action when it is submitted, and shows why it failed. */
export function ActionDialog({
  title,
  action,
  isDestructive,
  act,
  done,
  changes,
  close,
  children,
}: ActionDialogProps) {
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: act,
    onSuccess: () => {
      close();
      void notify({ color: 'teal', message: done });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: changes }),
  });
  return (
    <Modal
      opened
      onClose={close}
      title={<bdi style={{ overflowWrap: 'anywhere' }}>{title}</bdi>}
      size="md"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          acting.mutate();
        }}
      >
        <Stack>
          {acting.error && <Failure error={acting.error} />}
          {children}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={acting.isPending}
              {...(isDestructive ? { color: 'red' } : {})}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
