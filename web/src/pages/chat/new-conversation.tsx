import { Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { installation } from '../../api/installation.ts';
import { gatewayConnection } from '../../api/settings.ts';
import { Empty } from '../../parts/empty.tsx';
import { Composer } from './composer.tsx';

const examples = [
  'Why did the last run fail?',
  'Which repositories were not backed up this week?',
  'Which archives are the largest?',
  'Mail a summary of the last 30 days.',
];

/** Shown before the first question: what the chat can do, or that it needs a key. */
export function NewConversation({ onAsk }: { onAsk(question: string): void }) {
  if (useLacksKey()) {
    return (
      <Empty title="The chat needs a key">
        A model answers questions about your backups, but no key of a model gateway is connected
        yet. Everything else works without it.
        <Group mt="md" justify="center">
          <Button component={Link} to="/settings">
            Open settings
          </Button>
        </Group>
      </Empty>
    );
  }
  return (
    <>
      <Empty title="Ask about your backups">
        A model answers with what it finds in runs, logs and archives. It changes nothing, and sends
        no mail without your approval.
        <Stack mt="md" gap="xs" align="center">
          {examples.map((question) => (
            <Button
              key={question}
              variant="default"
              h="auto"
              py="xs"
              styles={{ label: { whiteSpace: 'normal', overflow: 'visible' } }}
              onClick={() => onAsk(question)}
            >
              {question}
            </Button>
          ))}
        </Stack>
      </Empty>
      <Composer onAsk={onAsk} />
    </>
  );
}

/** Whether neither the user nor the server has a key. */
function useLacksKey(): boolean {
  const { data } = useQuery(installation);
  const canConnect = data?.features.gateway_login.enabled === true;
  const connection = useQuery({ ...gatewayConnection, enabled: canConnect });
  if (data === undefined || data.features.chat_without_own_key.enabled) return false;
  return canConnect ? connection.data?.source === 'none' : true;
}
