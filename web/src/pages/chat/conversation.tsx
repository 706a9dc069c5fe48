import { Anchor, Button, Stack, VisuallyHidden } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState, useSyncExternalStore } from 'react';
import { conversation } from '../../api/chat.ts';
import { ApiError, api } from '../../api/client.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { useServerNow } from '../../parts/use-server-now.ts';
import { Composer } from './composer.tsx';
import { ConfirmationDialog } from './confirmation-dialog.tsx';
import type { LiveTurns } from './live-turns.ts';
import { combineTurns, readTurns, type Turn } from './turn.ts';
import { TurnView } from './turn-view.tsx';
import { useFollowEnd } from './use-follow-end.ts';

const MESSAGES = 100;
/** What is asked to get the rest of an answer that was cut off or withheld. */
const CONTINUE = 'Continue your last answer where it ended.';
/** The most messages that the server returns at once. */
const MAX_MESSAGES = 500;

interface ConversationViewProps {
  session: string;
  turns: LiveTurns;
}

/** The turns of a conversation: the stored ones, then those that were asked on this page. */
export function ConversationView({ session, turns }: ConversationViewProps) {
  const [limit, setLimit] = useState(MESSAGES);
  const live = useSyncExternalStore(turns.subscribe, () => turns.of(session));
  const isStreaming = live.some(({ state, leftAt }) => state === 'running' && leftAt === null);
  const query = useQuery({ ...conversation(session, limit), enabled: !isStreaming });
  const stored = useMemo(() => (query.data ? readTurns(query.data) : []), [query.data]);
  const all = combineTurns(live, {
    turns: stored,
    readAt: query.dataUpdatedAt,
    isUnreachable: query.error !== null,
  });
  const liveIds = new Set(live.map(({ requestId }) => requestId));
  const running = all.findLast(({ state }) => state === 'running');
  const ask = (question: string) => void turns.ask(session, question);
  const askAgain = ({ question, requestId }: Turn) => {
    turns.forget(session, requestId);
    ask(question);
  };
  const end = useFollowEnd(all);

  // If the first question was rejected, the conversation does not exist.
  const isUnknown = query.error instanceof ApiError && query.error.status === 404;
  if (isUnknown && live.length === 0) {
    return (
      <Empty title="Conversation not found">
        It may have been deleted.{' '}
        <Anchor component={Link} to="/chat">
          Start a new one
        </Anchor>
        .
      </Empty>
    );
  }
  return (
    <Stack gap="lg">
      {(query.data?.messages.length ?? 0) >= limit && limit < MAX_MESSAGES && (
        <Button variant="subtle" onClick={() => setLimit(MAX_MESSAGES)}>
          Load earlier messages
        </Button>
      )}
      {live.length === 0 && <Loaded query={query}>{() => null}</Loaded>}
      {live.length > 0 && query.error && !isUnknown && <Failure error={query.error} />}
      {all.map((turn) => (
        <TurnView
          key={turn.requestId}
          turn={turn}
          isLive={liveIds.has(turn.requestId) && !stored.includes(turn)}
          onAskAgain={running ? undefined : askAgain}
          onContinue={running || turn !== all.at(-1) ? undefined : () => ask(CONTINUE)}
        />
      ))}
      <VisuallyHidden role="status">{describe(all.at(-1))}</VisuallyHidden>
      <Pending turns={all} onAskAgain={askAgain} />
      <Composer onAsk={ask} onStop={running && (() => void stop(session, running.requestId))} />
      <div ref={end} />
    </Stack>
  );
}

/** The state of a turn for screen readers, which do not read out an answer while it is streamed. */
function describe(turn: Turn | undefined): string {
  if (turn === undefined) return '';
  if (turn.confirmation !== null) return 'The answer is waiting for your approval.';
  if (turn.finishReason === 'length') return "The answer was cut off at the model's limit.";
  if (turn.finishReason === 'content_filter') return 'The answer was withheld by the provider.';
  const words = {
    running: 'Answering.',
    completed: 'Answered.',
    failed: 'The answer failed.',
    lost: 'No answer.',
  };
  return words[turn.state];
}

/** Asks for the approval that a turn is waiting for, unless the user has put it off. */
function Pending({ turns, onAskAgain }: { turns: readonly Turn[]; onAskAgain(turn: Turn): void }) {
  const turn = turns.findLast(({ confirmation }) => confirmation !== null);
  const found = turn?.confirmation ?? null;
  const [closed, setClosed] = useState<string | null>(null);
  const now = useServerNow(found === null ? undefined : 500);
  if (!turn || found === null || now >= found.expiresAt) return null;
  if (closed === found.id) {
    return (
      <Button variant="light" color="orange" onClick={() => setClosed(null)}>
        Decide on {found.name}
      </Button>
    );
  }
  return (
    <ConfirmationDialog
      key={found.id}
      confirmation={found}
      secondsLeft={Math.ceil((found.expiresAt - now) / 1000)}
      onClose={() => setClosed(found.id)}
      onAskAgain={() => {
        setClosed(found.id);
        onAskAgain(turn);
      }}
    />
  );
}

async function stop(session_id: string, request_id: string): Promise<void> {
  try {
    await api.POST('/chat/stop', { body: { session_id, request_id } });
  } catch (error) {
    // The turn has ended by itself.
    if (error instanceof ApiError && error.status === 404) return;
    const { message } = error as Error;
    notifications.show({ color: 'red', title: 'The answer was not stopped', message });
  }
}
