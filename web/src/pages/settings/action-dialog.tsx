import { Button, Group, Modal, Stack } from '@mantine/core';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../../api/client.ts';
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
  /** The fields. A function gets what is wrong with a field, which then stands there. */
  children: ReactNode | ((errorAt: ErrorAt) => ReactNode);
}

/** What is wrong with a field; null if nothing is known to be. */
export type ErrorAt = (path: string) => string | null;

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
  const { error } = acting;
  const fields = error instanceof ApiError ? error.fields : [];
  const errorAt: ErrorAt = (path) => {
    const message = fields.find((field) => field.path === path)?.message;
    return message === undefined ? null : message.charAt(0).toUpperCase() + message.slice(1);
  };
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
          {error && (fields.length === 0 || typeof children !== 'function') && (
            <Failure error={error} />
          )}
          {typeof children === 'function' ? children(errorAt) : children}
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
