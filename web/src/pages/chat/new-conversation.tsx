import { Button, Stack } from '@mantine/core';
import { Empty } from '../../parts/empty.tsx';
import { Composer } from './composer.tsx';

const examples = [
  'Why did the last run fail?',
  'Which repositories were not backed up this week?',
  'Which archives are the largest?',
  'Mail a summary of the last 30 days.',
];

/** Where a conversation begins. */
export function NewConversation({ onAsk }: { onAsk(question: string): void }) {
  return (
    <>
      <Empty title="Ask about your backups">
        A model answers with what it finds in runs, logs and archives. It changes nothing, and mails
        nothing that you have not approved.
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
