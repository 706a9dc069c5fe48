import { NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { addMute, endMute, mutes } from '../api/telling.ts';
import { fromLocalInput, toLocalInput } from '../parts/time-zone.tsx';
import { ActionDialog, type ErrorAt } from './settings/action-dialog.tsx';

const HOUR_MS = 3_600_000;
const MAX_NAME_LENGTH = 1_001;

/** What is muted, if that is not chosen in the dialog. */
type About = { scope: 'all' } | { scope: 'incident'; incident_id: number };

/** Mutes an incident, or what is chosen in the dialog, until a time. */
export function Mute({ about, close }: { about?: About; close(): void }) {
  const [scope, setScope] = useState<'all' | 'repository'>('all');
  const [repository, setRepository] = useState('');
  const [until, setUntil] = useState(() => toLocalInput(Date.now() + 4 * HOUR_MS));
  const muted = about ?? (scope === 'all' ? { scope } : { scope, repository: repository.trim() });
  return (
    <ActionDialog
      title={about?.scope === 'incident' ? 'Mute this incident' : 'Mute'}
      action="Mute"
      act={() => addMute({ ...muted, until: fromLocalInput(until) })}
      done="Muted. The mute ends by itself."
      changes={mutes.queryKey}
      close={close}
    >
      {(errorAt) => (
        <>
          {about === undefined && (
            <NativeSelect
              label="What"
              data={[
                { value: 'all', label: 'Everything' },
                { value: 'repository', label: 'A repository' },
              ]}
              value={scope}
              onChange={({ currentTarget: { value } }) => setScope(value as 'all' | 'repository')}
              data-autofocus
            />
          )}
          {about === undefined && scope === 'repository' && (
            <TextInput
              label="Repository"
              description="Its full name, such as acme/app. Incidents that also concern other repositories are still told."
              value={repository}
              onChange={({ currentTarget: { value } }) => setRepository(value)}
              error={errorAt('repository')}
              maxLength={MAX_NAME_LENGTH}
              autoComplete="off"
              required
            />
          )}
          <UntilInput value={until} onChange={setUntil} errorAt={errorAt} />
          <Text size="sm" c="dimmed">
            Incidents open and close as ever. When the mute ends, one summary tells what it held
            back.
          </Text>
        </>
      )}
    </ActionDialog>
  );
}

interface UntilInputProps {
  value: string;
  onChange(value: string): void;
  errorAt: ErrorAt;
}

/** A time in the future, with the most likely ones to choose from. */
function UntilInput({ value, onChange, errorAt }: UntilInputProps) {
  return (
    <>
      <NativeSelect
        label="For"
        data={[
          { value: '1', label: '1 hour' },
          { value: '4', label: '4 hours' },
          { value: '24', label: '1 day' },
          { value: '168', label: '1 week' },
        ]}
        defaultValue="4"
        onChange={({ currentTarget }) =>
          onChange(toLocalInput(Date.now() + Number(currentTarget.value) * HOUR_MS))
        }
      />
      <TextInput
        type="datetime-local"
        label="Until"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        error={errorAt('until')}
        required
      />
    </>
  );
}

/** Asks before a mute ends early. */
export function EndMute({ mute, close }: { mute: Schemas['Mute']; close(): void }) {
  return (
    <ActionDialog
      title="End the mute?"
      action="End the mute"
      act={() => endMute(mute.id)}
      done="The mute has ended"
      changes={mutes.queryKey}
      close={close}
    >
      <Text>What it held back is told within 10 minutes, in one summary.</Text>
    </ActionDialog>
  );
}
