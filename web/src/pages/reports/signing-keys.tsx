import { Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { me, replaceSigningKey, signingKeyAddress, signingKeys } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Loaded } from '../../parts/loading.tsx';
import { ActionDialog } from '../settings/action-dialog.tsx';

/** The public keys with which an auditor verifies what restore drills have proved. */
export function SigningKeys() {
  const [isReplacing, setReplacing] = useState(false);
  const isAdmin = useQuery(me).data?.is_admin ?? false;
  return (
    <Stack gap="xs" component="section" aria-label="Signing key">
      <Title order={2} size="h4">
        Signing key
      </Title>
      <Text size="sm" c="dimmed">
        The result of each restore drill is signed with this key. Each drill of a repository has its
        signed statement, which an auditor verifies offline with the public key.
      </Text>
      <Loaded query={useQuery(signingKeys)} lines={3}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No signing key yet">
              The server makes one when it starts with <Code>CREDENTIALS_ENCRYPTION_KEY</Code>,
              which encrypts the private part.
            </Empty>
          ) : (
            <>
              {data.map((key) => (
                <SigningKey key={key.id} of={key} />
              ))}
              {isAdmin && (
                <Group>
                  <Button variant="default" onClick={() => setReplacing(true)}>
                    Replace the key
                  </Button>
                </Group>
              )}
            </>
          )
        }
      </Loaded>
      {isReplacing && (
        <ActionDialog
          title="Replace the signing key?"
          action="Replace"
          isDestructive
          act={replaceSigningKey}
          done="The signing key was replaced"
          changes={signingKeys.queryKey}
          close={() => setReplacing(false)}
        >
          <Text size="sm">
            New drills are signed with a new key, and the private part of the old one is deleted.
            What the old key has signed stays valid. Give auditors the new public key.
          </Text>
        </ActionDialog>
      )}
    </Stack>
  );
}

function SigningKey({ of: key }: { of: Schemas['SigningKey'] }) {
  const { id, is_current, created_at, created_by, retired_at } = key;
  return (
    <Paper withBorder p="sm" radius="md">
      <Group justify="space-between">
        <div style={{ minWidth: 0 }}>
          <Text size="sm" fw={600}>
            {is_current ? 'Current key' : 'Former key'}
          </Text>
          <Code style={{ overflowWrap: 'anywhere' }}>{id}</Code>
          <Text size="sm" c="dimmed">
            Ed25519, made <Age of={created_at} />
            {created_by !== null && (
              <>
                {' '}
                by <bdi>{created_by}</bdi>
              </>
            )}
            {retired_at !== null && (
              <>
                , replaced <Age of={retired_at} />
              </>
            )}
          </Text>
        </div>
        <Button
          size="xs"
          variant="default"
          component="a"
          href={signingKeyAddress(id)}
          download
          aria-label={`Download the public key ${id.slice(0, 8)}`}
        >
          Public key
        </Button>
      </Group>
    </Paper>
  );
}
