import { Button, Group, Modal, Stack } from '@mantine/core';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';

interface QuestionProps {
  title: string;
  action: string;
  isDestructive?: boolean;
  act(): Promise<void>;
  /** What is said afterwards. */
  done: string;
  /** What is read again afterwards. */
  changes: QueryKey;
  close(): void;
  children: ReactNode;
}

/** Asks before something is done, in a dialog that says why it was not. */
export function Question({
  title,
  action,
  isDestructive,
  act,
  done,
  changes,
  close,
  children,
}: QuestionProps) {
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
    <Modal opened onClose={close} title={<bdi>{title}</bdi>} size="md">
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
