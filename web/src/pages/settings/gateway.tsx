import { Alert, Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { disconnectGateway, gatewayConnection } from '../../api/settings.ts';
import { Age } from '../../parts/age.tsx';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';
import { awaitCode, forgetLogin, startLogin } from './gateway-login.ts';

/** Which key the user's questions use, and the buttons to connect or disconnect their own. */
export function Gateway({ installation }: { installation: Schemas['Installation'] }) {
  const { gateway_login, chat_without_own_key } = installation.features;
  const query = useQuery({ ...gatewayConnection, enabled: gateway_login.enabled });
  if (!gateway_login.enabled) {
    return (
      <Alert color="orange" title="You cannot connect your own key">
        {gateway_login.reason}.{' '}
        {chat_without_own_key.enabled
          ? 'Your questions use the server’s key.'
          : `The server has no key either: ${chat_without_own_key.reason}.`}
      </Alert>
    );
  }
  return (
    <Loaded query={query} lines={2}>
      {(connection) => (
        <Paper withBorder p="md" radius="md">
          <Stack gap="sm">
            <Connection connection={connection} />
            <Actions
              isConnected={connection.connected}
              authorizeUrl={installation.gateway.authorize_url}
            />
          </Stack>
        </Paper>
      )}
    </Loaded>
  );
}

function Connection({ connection }: { connection: Schemas['GatewayConnection'] }) {
  const { source, key_hint, connected_at, last_used_at, invalid } = connection;
  if (source === 'none') return <Text>No key is connected, so the chat has no model.</Text>;
  if (source === 'server') return <Text>Your questions use the server’s key.</Text>;
  return (
    <>
      <Text>
        Your questions use your own key{key_hint === null ? '' : `, which ends in ${key_hint}`}.
      </Text>
      {connected_at !== null && (
        <Text size="sm" c="dimmed">
          Connected <Age of={connected_at} />
          {last_used_at !== null && (
            <>
              , last used <Age of={last_used_at} />
            </>
          )}
        </Text>
      )}
      {invalid && (
        <Alert color="red" title="The gateway rejected your key">
          Connect another key, or disconnect this one.
        </Alert>
      )}
    </>
  );
}

function Actions({ isConnected, authorizeUrl }: { isConnected: boolean; authorizeUrl: string }) {
  const queries = useQueryClient();
  const [address, setAddress] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: ['gateway'] });
  useEffect(
    () =>
      awaitCode((error) => {
        setAddress(null);
        setProblem(error);
        void queries.invalidateQueries({ queryKey: ['gateway'] });
        if (error === null) void notify({ color: 'teal', message: 'Your key is connected' });
      }),
    [queries],
  );
  const starting = useMutation({
    mutationFn: () => startLogin(authorizeUrl),
    onSuccess: (opened) => {
      setProblem(null);
      setAddress(opened);
      window.open(opened, '_blank', 'popup,noopener,noreferrer,width=560,height=760');
    },
  });
  const disconnecting = useMutation({ mutationFn: disconnectGateway, onSettled: refresh });
  if (!window.isSecureContext) {
    return (
      <Alert color="orange" title="Open this page over HTTPS to connect a key">
        Browsers create the proof that the gateway requires only over HTTPS, or on the server’s own
        machine.
      </Alert>
    );
  }
  return (
    <>
      {problem !== null && (
        <Alert color="red" title="Your key was not connected" role="alert">
          {problem}
        </Alert>
      )}
      {starting.error && <Failure error={starting.error} />}
      {disconnecting.error && <Failure error={disconnecting.error} />}
      {address !== null && (
        <Text size="sm" role="status">
          Allow access in the gateway’s window. No window?{' '}
          <Anchor href={address} target="_blank" rel="noopener noreferrer" underline="always">
            Open it
          </Anchor>
          .
        </Text>
      )}
      <Group gap="sm">
        <Button onClick={() => starting.mutate()} loading={starting.isPending}>
          {isConnected ? 'Connect another key' : 'Connect your key'}
        </Button>
        {address !== null && (
          <Button
            variant="default"
            onClick={() => {
              forgetLogin();
              setAddress(null);
            }}
          >
            Cancel
          </Button>
        )}
        {isConnected && (
          <Button
            variant="default"
            onClick={() => disconnecting.mutate()}
            loading={disconnecting.isPending}
          >
            Disconnect
          </Button>
        )}
      </Group>
    </>
  );
}
