import { Alert, Button, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { memo } from 'react';
import { Age } from '../../parts/age.tsx';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import classes from './chat.module.css';
import { Sources } from './sources.tsx';
import { ToolCards } from './tool-cards.tsx';
import type { Turn } from './turn.ts';
import { TurnProblem } from './turn-problem.tsx';

interface TurnViewProps {
  turn: Turn;
  /** Whether it was asked on this page, which reads its stream. */
  isLive: boolean;
  /** Undefined while another turn runs. */
  onAskAgain?: ((turn: Turn) => void) | undefined;
}

/** A question and its answer. */
export const TurnView = memo(
  function TurnView({ turn, isLive, onAskAgain }: TurnViewProps) {
    const { question, askedAt, state, text, calls, sources, failure } = turn;
    const askAgain = onAskAgain && question !== '' ? () => onAskAgain(turn) : undefined;
    return (
      <Stack component="article" gap="sm" aria-label={question.slice(0, 80) || 'Earlier answer'}>
        {question !== '' && (
          <Paper withBorder p="sm" radius="md">
            <Text className={classes.text} component="div">
              <bdi>{question}</bdi>
            </Text>
            <Text size="xs" c="dimmed" component="div" ta="right">
              <Age of={askedAt} />
            </Text>
          </Paper>
        )}
        <ToolCards calls={calls} />
        {text !== '' && <Markdown text={text} />}
        {state === 'running' && <Working turn={turn} isLive={isLive} />}
        {failure && state === 'failed' && <TurnProblem failure={failure} onAskAgain={askAgain} />}
        {state === 'lost' && (
          <Alert color="gray" title="No answer">
            <Group justify="space-between">
              <Text size="sm">The server may have restarted while it was answering.</Text>
              {askAgain && (
                <Button size="xs" variant="default" onClick={askAgain}>
                  Ask again
                </Button>
              )}
            </Group>
          </Alert>
        )}
        {state !== 'running' && <Sources sources={sources} />}
      </Stack>
    );
  },
  // Only the presence of `onAskAgain` matters: it does the same each time it is created.
  (before, after) =>
    before.turn === after.turn &&
    before.isLive === after.isLive &&
    (before.onAskAgain === undefined) === (after.onAskAgain === undefined),
);

function Working({ turn, isLive }: { turn: Turn; isLive: boolean }) {
  return (
    <Group gap="xs">
      <Loader size="xs" />
      <Text size="sm" c="dimmed">
        {whatItDoes(turn, isLive)}
      </Text>
    </Group>
  );
}

function whatItDoes({ calls, iteration, confirmation }: Turn, isLive: boolean): string {
  if (confirmation !== null) return 'Waiting for your approval…';
  if (!isLive) return 'Still working on the answer…';
  if (calls.some(({ state }) => state === 'running')) return 'Looking things up…';
  return iteration === 0 ? 'Searching…' : 'Thinking…';
}
