import { Accordion, Badge, Code, Group, Stack, Text } from '@mantine/core';
import { formatCount, formatDuration } from '../../parts/format.ts';
import classes from './chat.module.css';
import type { Call } from './turn.ts';

/** The length to which arguments and results are cut. */
const MAX_SHOWN_CHARS = 20_000;

const states: Record<Call['state'], { word: string; color: string }> = {
  waiting: { word: 'Waiting for you', color: 'orange' },
  running: { word: 'Running', color: 'blue' },
  done: { word: 'Done', color: 'teal' },
  failed: { word: 'Failed', color: 'red' },
};

const decisions = {
  approved: { word: 'Approved', color: 'teal' },
  rejected: { word: 'Rejected', color: 'orange' },
  expired: { word: 'Timed out', color: 'orange' },
};

/** The tool calls of an answer, each with its arguments and its result. */
export function ToolCards({ calls }: { calls: readonly Call[] }) {
  if (calls.length === 0) return null;
  return (
    <Accordion multiple variant="contained" keepMounted={false} aria-label="Tools">
      {calls.map((call, index) => (
        // A model may give two calls the same id, but their order does not change.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Accordion.Item key={index} value={String(index)}>
          <Accordion.Control>
            <Head call={call} />
          </Accordion.Control>
          <Accordion.Panel>
            <Stack gap="xs">
              <Block label="Arguments" text={JSON.stringify(call.args, null, 2)} />
              {call.outcome !== null && (
                <Block
                  label={call.state === 'done' ? 'Result' : 'Error'}
                  text={indented(call.outcome)}
                />
              )}
            </Stack>
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}

function Head({ call: { name, state, decision, durationMs } }: { call: Call }) {
  // A call that was rejected did not fail.
  const isRefused = decision === 'rejected' || decision === 'expired';
  return (
    <Group gap="xs">
      <Text span size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
        <bdi>{name.slice(0, 100)}</bdi>
      </Text>
      {decision !== null && <Mark {...decisions[decision]} />}
      {!isRefused && <Mark {...states[state]} />}
      {durationMs !== null && !isRefused && (
        <Text span size="xs" c="dimmed">
          {formatDuration(Math.round(durationMs))}
        </Text>
      )}
    </Group>
  );
}

function Mark({ word, color }: { word: string; color: string }) {
  return (
    <Badge size="sm" variant="light" color={color}>
      {word}
    </Badge>
  );
}

function Block({ label, text }: { label: string; text: string }) {
  const left = text.length - MAX_SHOWN_CHARS;
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Code block tabIndex={0} role="region" aria-label={label} className={classes.block}>
        {text.slice(0, MAX_SHOWN_CHARS)}
        {left > 0 && `\n… ${formatCount(left)} more characters`}
      </Code>
    </div>
  );
}

/** Indents JSON, and returns any other text unchanged. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
