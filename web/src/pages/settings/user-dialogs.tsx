import { PasswordInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { addUser, changePassword, removeUser, users } from '../../api/settings.ts';
import { ActionDialog } from './action-dialog.tsx';

const MIN_PASSWORD_LENGTH = 12;
const MAX_PASSWORD_LENGTH = 1024;
const MAX_NAME_LENGTH = 64;

export function AddUser({ close }: { close(): void }) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  return (
    <ActionDialog
      title="Add a user"
      action="Add"
      act={() => addUser({ username, password })}
      done={`${username} can log in now`}
      changes={users.queryKey}
      close={close}
    >
      <TextInput
        label="User name"
        description="1 to 64 letters, digits or . _ @ + -"
        value={username}
        onChange={({ currentTarget: { value } }) => setUsername(value)}
        maxLength={MAX_NAME_LENGTH}
        autoComplete="off"
        required
        data-autofocus
      />
      <NewPassword value={password} onChange={setPassword} />
    </ActionDialog>
  );
}

interface ChangePasswordProps {
  name: string;
  isOwn: boolean;
  close(): void;
}

/** Changes a password. Users also need their current one to change their own. */
export function ChangePassword({ name, isOwn, close }: ChangePasswordProps) {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  return (
    <ActionDialog
      title={isOwn ? 'Change your password' : `Change the password of ${name}`}
      action="Change"
      act={() =>
        changePassword(name, { password, ...(isOwn ? { current_password: current } : {}) })
      }
      done="The password was changed"
      changes={users.queryKey}
      close={close}
    >
      {isOwn && (
        <PasswordInput
          label="Current password"
          value={current}
          onChange={({ currentTarget: { value } }) => setCurrent(value)}
          autoComplete="current-password"
          maxLength={MAX_PASSWORD_LENGTH}
          required
          data-autofocus
        />
      )}
      <NewPassword value={password} onChange={setPassword} />
      <Text size="sm" c="dimmed">
        {isOwn
          ? 'You stay logged in here, and are logged out everywhere else.'
          : 'This user is logged out everywhere.'}
      </Text>
    </ActionDialog>
  );
}

/** Asks before a user is removed with everything that belongs to them. */
export function RemoveUser({ name, close }: { name: string; close(): void }) {
  return (
    <ActionDialog
      title={`Remove ${name}?`}
      action="Remove"
      isDestructive
      act={() => removeUser(name)}
      done={`${name} was removed`}
      changes={users.queryKey}
      close={close}
    >
      <Text>
        This also deletes their gateway key, conversations and reports. It cannot be undone.
      </Text>
    </ActionDialog>
  );
}

function NewPassword({ value, onChange }: { value: string; onChange(value: string): void }) {
  return (
    <PasswordInput
      label="New password"
      description={`At least ${MIN_PASSWORD_LENGTH} characters`}
      value={value}
      onChange={({ currentTarget: { value } }) => onChange(value)}
      autoComplete="new-password"
      minLength={MIN_PASSWORD_LENGTH}
      maxLength={MAX_PASSWORD_LENGTH}
      required
    />
  );
}
