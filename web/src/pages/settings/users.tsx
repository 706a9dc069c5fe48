import { Alert, Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { me } from '../../api/queries.ts';
import { users } from '../../api/settings.ts';
import { Age } from '../../parts/age.tsx';
import { Card, CardAction } from '../../parts/card.tsx';
import { Loaded } from '../../parts/loading.tsx';
import { Section } from './section.tsx';
import { AddUser, ChangePassword, ChangeRole, RemoveUser } from './user-dialogs.tsx';

type OpenDialog =
  | { to: 'add' }
  | { to: 'change' | 'remove'; name: string }
  | { to: 'role'; name: string; isAdmin: boolean }
  | null;

/** The users who may log in. */
export function Users() {
  const query = useQuery(users);
  const { data: self } = useQuery(me);
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const close = () => setDialog(null);
  return (
    <Section
      title="Users"
      about="The AUTH_USERNAME user owns this installation and manages the others. Administrators may change how backups are made. All users see all backups; chats, reports and keys are private to each user."
    >
      <Loaded query={query}>
        {({ users, may_manage }) => (
          <Stack>
            {users.map((user) => (
              <UserRow key={user.username} user={user} open={setDialog} mayManage={may_manage} />
            ))}
            {may_manage ? (
              <Group>
                <Button onClick={() => setDialog({ to: 'add' })}>Add a user</Button>
              </Group>
            ) : (
              <Alert color="blue" title="You see only yourself">
                Ask the owner of this installation to add or remove users.
              </Alert>
            )}
          </Stack>
        )}
      </Loaded>
      {dialog?.to === 'add' && <AddUser close={close} />}
      {dialog?.to === 'change' && (
        <ChangePassword name={dialog.name} isOwn={dialog.name === self?.username} close={close} />
      )}
      {dialog?.to === 'role' && <ChangeRole {...dialog} close={close} />}
      {dialog?.to === 'remove' && <RemoveUser name={dialog.name} close={close} />}
    </Section>
  );
}

interface UserRowProps {
  user: Schemas['User'];
  mayManage: boolean;
  open(dialog: OpenDialog): void;
}

function UserRow({ user, mayManage, open }: UserRowProps) {
  const { username: name, created_at, is_owner, is_admin: isAdmin } = user;
  return (
    <Card
      title={name}
      marks={isAdmin ? ['Administrator'] : []}
      about={
        created_at === null ? (
          'The owner, set by AUTH_USERNAME and AUTH_PASSWORD'
        ) : (
          <>
            Added <Age of={created_at} />
          </>
        )
      }
      actions={
        !is_owner && (
          <>
            <CardAction
              label="Change password"
              name={`Change password of ${name}`}
              act={() => open({ to: 'change', name })}
            />
            {mayManage && (
              <>
                <CardAction
                  label={isAdmin ? 'Make a user' : 'Make an administrator'}
                  name={isAdmin ? `Make a user of ${name}` : `Make an administrator of ${name}`}
                  act={() => open({ to: 'role', name, isAdmin })}
                />
                <CardAction
                  label="Remove"
                  name={`Remove ${name}`}
                  act={() => open({ to: 'remove', name })}
                  isDestructive
                />
              </>
            )}
          </>
        )
      }
    />
  );
}
