import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { addUser, changePassword, removeUser } from '../../api/settings.ts';
import { Failure } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';

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

interface QuestionProps {
  title: string;
  action: string;
  isDestructive?: boolean;
  act(): Promise<void>;
  /** What is said afterwards. */
  done: string;
  close(): void;
  children: ReactNode;
}

function Question({ title, action, isDestructive, act, done, close, children }: QuestionProps) {
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: act,
    onSuccess: () => {
      close();
      void notify({ color: 'teal', message: done });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['users'] }),
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
