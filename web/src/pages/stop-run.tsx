import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { me } from '../api/queries.ts';
import { ActionDialog } from './settings/action-dialog.tsx';

/** Lets administrators stop a run that is under way. */
export function StopRun({ id }: { id: number }) {
  const { data: self } = useQuery(me);
  const [isOpen, setOpen] = useState(false);
  if (self?.is_admin !== true) return null;
  const stop = async () => {
    await api.POST('/api/backups/{id}/stop', { params: { path: { id } } });
  };
  return (
    <>
      <Button size="xs" variant="light" color="red" onClick={() => setOpen(true)}>
        Stop the run
      </Button>
      {isOpen && (
        <ActionDialog
          title={`Stop run #${id}?`}
          action="Stop"
          isDestructive
          act={stop}
          done="The run ends within half a minute"
          changes={['runs']}
          close={() => setOpen(false)}
        >
          <Text>
            What is done stays backed up. The rest is backed up in the next run, or when somebody
            asks for it.
          </Text>
        </ActionDialog>
      )}
    </>
  );
}
