import { Checkbox, PasswordInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { addUser, changePassword, removeUser, setAdmin, users } from '../../api/settings.ts';
import { ActionDialog } from './action-dialog.tsx';

const MIN_PASSWORD_LENGTH = 12;
const MAX_PASSWORD_LENGTH = 1024;
const MAX_NAME_LENGTH = 64;
const ADMINISTRATOR =
  'Administrators may change how backups are made, and what is told to whom. They do not manage users.';

export function AddUser({ close }: { close(): void }) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [isAdmin, setIsAdmin] = useState(false);
  return (
    <ActionDialog
      title="Add a user"
      action="Add"
      act={() => addUser({ username, password, is_admin: isAdmin })}
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
      <Checkbox
        label="Administrator"
        description={ADMINISTRATOR}
        checked={isAdmin}
        onChange={({ currentTarget: { checked } }) => setIsAdmin(checked)}
      />
    </ActionDialog>
  );
}

/** Asks before a user becomes an administrator, or is no longer one. */
export function ChangeRole({ name, isAdmin, close }: ChangeRoleProps) {
  return (
    <ActionDialog
      title={isAdmin ? `Make ${name} a user?` : `Make ${name} an administrator?`}
      action={isAdmin ? 'Make a user' : 'Make an administrator'}
      act={() => setAdmin(name, !isAdmin)}
      done={isAdmin ? `${name} is no longer an administrator` : `${name} is an administrator now`}
      changes={users.queryKey}
      close={close}
    >
      <Text>
        {isAdmin
          ? 'They still see everything, and change nothing about how backups are made.'
          : ADMINISTRATOR}
      </Text>
    </ActionDialog>
  );
}

interface ChangeRoleProps {
  name: string;
  /** Whether the user is an administrator now. */
  isAdmin: boolean;
  close(): void;
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
