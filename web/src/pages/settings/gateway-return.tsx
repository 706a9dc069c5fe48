import { Alert, Anchor, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { deliverCode } from './gateway-login.ts';

/** If no page answers within this time, the one that started the login has been closed. */
const ANSWER_MS = 20_000;

type Outcome = { error: string | null } | 'unanswered' | null;

/** The page that the gateway's window returns to: hands the code on, and shows the outcome. */
export function GatewayReturnPage() {
  const { state } = useParams({ from: '/settings/gateway/$state' });
  const { code } = useSearch({ from: '/settings/gateway/$state' });
  const [outcome, setOutcome] = useState<Outcome>(null);
  useEffect(() => {
    if (code === undefined) return;
    const timer = setTimeout(() => setOutcome((known) => known ?? 'unanswered'), ANSWER_MS);
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
        ) : outcome === 'unanswered' ? (
          <Alert color="red" title="Your key was not connected" role="alert">
            The page that started this is no longer open. Start again in the settings.
          </Alert>
        ) : outcome.error === null ? (
          <Text>Your key is connected. You can close this window.</Text>
        ) : (
          <Alert color="red" title="Your key was not connected" role="alert">
            {outcome.error}
          </Alert>
        )}
        <Anchor component={Link} to="/settings" size="sm">
          Go to the settings
        </Anchor>
      </Stack>
    </Center>
  );
}
