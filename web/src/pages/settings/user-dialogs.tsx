import { PasswordInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { addUser, changePassword, removeUser, users } from '../../api/settings.ts';
import { Question } from './question.tsx';

const MIN_PASSWORD_LENGTH = 12;
const MAX_PASSWORD_LENGTH = 1024;
const MAX_NAME_LENGTH = 64;

/** Asks for a name and a password. */
export function AddUser({ close }: { close(): void }) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  return (
    <Question
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
    </Question>
  );
}

interface ChangePasswordProps {
  name: string;
  isOwn: boolean;
  close(): void;
}

/** One's own needs the current one too. */
export function ChangePassword({ name, isOwn, close }: ChangePasswordProps) {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  return (
    <Question
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
        {isOwn ? 'You stay logged in here. All other logins end.' : 'All logins of this user end.'}
      </Text>
    </Question>
  );
}

/** Asks before everything of a user is deleted. */
export function RemoveUser({ name, close }: { name: string; close(): void }) {
  return (
    <Question
      title="Remove a user"
      action="Remove"
      isDestructive
      act={() => removeUser(name)}
      done={`${name} was removed`}
      changes={users.queryKey}
      close={close}
    >
      <Text style={{ overflowWrap: 'anywhere' }}>
        Remove <bdi>{name}</bdi> with their gateway key, conversations and reports? This cannot be
        undone.
      </Text>
    </Question>
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
