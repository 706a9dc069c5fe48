import { Alert, Anchor, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { deliverCode } from './gateway-login.ts';

/** After this the page that started the login is not there any more. */
const PATIENCE_MS = 20_000;

type Outcome = { error: string | null } | 'nobody' | null;

/** Where the gateway's window ends: hands the code on, and says how it went. */
export function GatewayReturnPage() {
  const { state } = useParams({ from: '/settings/gateway/$state' });
  const { code } = useSearch({ from: '/settings/gateway/$state' });
  const [outcome, setOutcome] = useState<Outcome>(null);
  useEffect(() => {
    if (code === undefined) return;
    const timer = setTimeout(() => setOutcome((known) => known ?? 'nobody'), PATIENCE_MS);
    const stop = deliverCode(state, code, (error) => setOutcome({ error }));
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [state, code]);
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack maw={480} align="center" ta="center">
        <Title order={1} size="h3">
          Connect your key
        </Title>
        {code === undefined ? (
          <Alert color="red" title="The gateway returned no code" role="alert">
            Nothing was connected. Close this window and try again.
          </Alert>
        ) : outcome === null ? (
          <Loader aria-label="Connecting" />
        ) : outcome === 'nobody' ? (
          <Alert color="red" title="Nothing is waiting for this" role="alert">
            The page that started it is no longer open. Start again there.
          </Alert>
        ) : outcome.error === null ? (
          <Text>Your key is connected. You can close this window.</Text>
        ) : (
          <Alert color="red" title="Your key was not connected" role="alert">
            {outcome.error}
          </Alert>
        )}
        <Anchor component={Link} to="/settings" size="sm">
          To the settings
        </Anchor>
      </Stack>
    </Center>
  );
}
