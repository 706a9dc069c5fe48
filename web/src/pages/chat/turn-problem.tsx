import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import type { TurnFailure } from './turn.ts';

interface TurnProblemProps {
  failure: TurnFailure;
  onAskAgain: (() => void) | undefined;
}

/** Why a question has no answer, and what to do about it. */
export function TurnProblem({ failure, onAskAgain }: TurnProblemProps) {
  const { message, code, requestId } = failure;
  return (
    <Alert
      color="red"
      role="alert"
      title={code === 'GATEWAY_NOT_CONFIGURED' ? 'No model is connected' : 'Something went wrong'}
    >
      <Group justify="space-between">
        <Stack gap={4} flex="1 1 260px">
          {code === 'GATEWAY_NOT_CONFIGURED' && <HowToConnect />}
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {message}
            {requestId !== null && (
              <>
                {' '}
                (request ID <Code>{requestId}</Code>)
              </>
            )}
          </Text>
        </Stack>
        {onAskAgain && (
          <Button size="xs" variant="light" color="red" onClick={onAskAgain}>
            Ask again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

function HowToConnect() {
  return (
    <Text size="sm">
      The operator connects a model with <Code>GATEWAY_API_KEYS</Code> and{' '}
      <Code>GATEWAY_MODEL</Code>. You can also connect your own gateway key in Settings.
      docs/chat-and-reports.md has the steps, including those for a model on your own machine.
    </Text>
  );
}
