import { Accordion, Alert, Button, Group, Loader, Paper, Stack, Text } from '@mantine/core';
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
  /** Whether it was asked on this page, which knows how far it has come. */
  isLive: boolean;
  /** Undefined while another turn runs. */
  onAskAgain?: ((turn: Turn) => void) | undefined;
  /** Asks the model for the rest. Undefined while another turn runs, and for all but the last turn. */
  onContinue?: (() => void) | undefined;
}

/** A question and its answer. */
export const TurnView = memo(
  function TurnView({ turn, isLive, onAskAgain, onContinue }: TurnViewProps) {
    const { question, askedAt, state, text, reasoning, calls, sources, failure } = turn;
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
        {reasoning !== '' && <Reasoning text={reasoning} />}
        {text !== '' && <Markdown text={text} />}
        {(turn.finishReason === 'length' || turn.finishReason === 'content_filter') && (
          <Unfinished reason={turn.finishReason} onContinue={onContinue} />
        )}
        {state === 'running' && <Working turn={turn} isLive={isLive} />}
        {failure && state === 'failed' && <TurnProblem failure={failure} onAskAgain={askAgain} />}
        {state === 'lost' && (
          <Alert color="gray" title="No answer">
            <Group justify="space-between">
              <Text size="sm">
                {isLive
                  ? 'The connection was lost while the server was answering. If it goes on, its answer will appear here.'
                  : 'The server may have restarted while it was answering.'}
              </Text>
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
  // Only the presence of the callbacks matters: they do the same each time they are created.
  (before, after) =>
    before.turn === after.turn &&
    before.isLive === after.isLive &&
    (before.onAskAgain === undefined) === (after.onAskAgain === undefined) &&
    (before.onContinue === undefined) === (after.onContinue === undefined),
);

/** What the model said before its answer, folded. */
function Reasoning({ text }: { text: string }) {
  return (
    <Accordion variant="contained" keepMounted={false} aria-label="Reasoning">
      <Accordion.Item value="reasoning">
        <Accordion.Control>
          <Text span size="sm" c="dimmed">
            Reasoning
          </Text>
        </Accordion.Control>
        <Accordion.Panel>
          <Text size="sm" c="dimmed" component="div" className={classes.text}>
            <bdi>{text.trim()}</bdi>
          </Text>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

const endings = {
  length: "This answer was cut off at the model's limit.",
  content_filter: 'The rest of this answer was withheld by the provider.',
};

/** Why an answer is not whole. */
function Unfinished({
  reason,
  onContinue,
}: {
  reason: keyof typeof endings;
  onContinue: (() => void) | undefined;
}) {
  return (
    <Alert color="orange" role="note">
      <Group justify="space-between">
        <Text size="sm">{endings[reason]}</Text>
        {onContinue && (
          <Button size="xs" variant="default" onClick={onContinue}>
            Continue
          </Button>
        )}
      </Group>
    </Alert>
  );
}

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
