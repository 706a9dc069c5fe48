import { Code, PasswordInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { addAlertChannel, alertChannels, removeAlertChannel } from '../../api/settings.ts';
import { ActionDialog } from './action-dialog.tsx';

const MAX_NAME_LENGTH = 40;
const MAX_ADDRESS_LENGTH = 2_000;

interface AddChannelProps {
  kinds: readonly Schemas['AlertChannelKind'][];
  close(): void;
}

export function AddChannel({ kinds, close }: AddChannelProps) {
  const [name, setName] = useState('');
  const [address, setAddress] = useState('');
  return (
    <ActionDialog
      title="Add a channel"
      action="Add"
      act={() => addAlertChannel({ name, address })}
      done={`${name} was added. Send a test message to check it.`}
      changes={alertChannels.queryKey}
      close={close}
    >
      <TextInput
        label="Name"
        description="1 to 40 letters, digits, spaces or . _ -"
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
        maxLength={MAX_NAME_LENGTH}
        autoComplete="off"
        required
        data-autofocus
      />
      <PasswordInput
        label="Address"
        description="Stored encrypted, and never shown again"
        value={address}
        onChange={({ currentTarget: { value } }) => setAddress(value)}
        maxLength={MAX_ADDRESS_LENGTH}
        autoComplete="off"
        required
      />
      <Text size="sm" c="dimmed" component="div">
        For example:
        {kinds.map(({ kind, example }) => (
          <div key={kind}>
            <Code style={{ overflowWrap: 'anywhere' }}>{example}</Code>
          </div>
        ))}
        Mail is only sent to addresses in SMTP_TO.
      </Text>
    </ActionDialog>
  );
}

/** Asks before a channel is removed. */
export function RemoveChannel({ name, close }: { name: string; close(): void }) {
  return (
    <ActionDialog
      title={`Remove ${name}?`}
      action="Remove"
      isDestructive
      act={() => removeAlertChannel(name)}
      done={`${name} was removed`}
      changes={alertChannels.queryKey}
      close={close}
    >
      <Text>Alerts will no longer be sent to this channel.</Text>
    </ActionDialog>
  );
}
