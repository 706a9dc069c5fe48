import type { ChatEvent, Conversation, Message } from '../../api/chat.ts';
import type { Schemas } from '../../api/client.ts';

/** What the user is asked to approve. */
export interface Confirmation {
  id: string;
  name: string;
  args: Record<string, unknown>;
  callId: string;
  /** By the clock of the server, in milliseconds. */
  expiresAt: number;
}

/** A tool call of a turn, as its card shows it. */
export interface Call {
  id: string;
  name: string;
  args: Record<string, unknown>;
  state: 'waiting' | 'running' | 'done' | 'failed';
  durationMs: number | null;
  /** The result, or why there is none. */
  outcome: string | null;
  decision: 'approved' | 'rejected' | 'expired' | null;
}

export interface TurnFailure {
  message: string;
  code: string | null;
  requestId: string | null;
}

/** A question and its answer. */
export interface Turn {
  requestId: string;
  /** Empty if the question is older than the loaded messages. */
  question: string;
  askedAt: string;
  /** `lost`: it has no answer, and nothing is working on one. */
  state: 'running' | 'completed' | 'failed' | 'lost';
  text: string;
  /** What the model said before its answer. */
  reasoning: string;
  /** Why the answer ended; null if it failed, if it is not complete, or if it is not known. */
  finishReason: Message['finish_reason'];
  calls: readonly Call[];
  sources: readonly Schemas['ChatSource'][];
  confirmation: Confirmation | null;
  failure: TurnFailure | null;
  /** How many times the model was asked. */
  iteration: number;
  /** When this page stopped following the running turn, in milliseconds; null if it did not. */
  leftAt: number | null;
}

export function newTurn(asked: Pick<Turn, 'requestId' | 'question' | 'askedAt'>): Turn {
  return {
    ...asked,
    state: 'running',
    text: '',
    reasoning: '',
    finishReason: null,
    calls: [],
    sources: [],
    confirmation: null,
    failure: null,
    iteration: 0,
    leftAt: null,
  };
}

/** The turn after one event of its stream. */
export function applyEvent(turn: Turn, event: ChatEvent): Turn {
  switch (event.type) {
    case 'info':
      return { ...turn, sources: event.sources };
    case 'agent_reasoning':
      return { ...turn, iteration: event.iteration };
    case 'reasoning': {
      const { text, replaces_text } = event;
      const left = replaces_text ? turn.text.slice(0, turn.text.length - text.length) : turn.text;
      return { ...turn, text: left, reasoning: turn.reasoning + text };
    }
    case 'token':
      return { ...turn, text: turn.text + event.text };
    case 'confirm_required': {
      const confirmation = readConfirmation(event);
      return withCall({ ...turn, confirmation }, waitingCall(confirmation));
    }
    case 'tool_start': {
      const { tool_call_id: id, name, args } = event;
      const call: Call = { ...newCall, id, name, args, state: 'running' };
      return withCall({ ...turn, confirmation: null }, call);
    }
    case 'tool_end': {
      const { tool_call_id: id, name, success, duration_ms, result, error, decision } = event;
      const args = turn.calls.findLast((call) => call.id === id)?.args ?? {};
      return withCall(
        { ...turn, confirmation: null },
        {
          id,
          name,
          args,
          state: success ? 'done' : 'failed',
          durationMs: duration_ms,
          outcome: result ?? error ?? '',
          decision: decision ?? null,
        },
      );
    }
    case 'error': {
      const { message, code, request_id } = event;
      return { ...turn, failure: { message, code, requestId: request_id } };
    }
    case 'done':
      return {
        ...turn,
        confirmation: null,
        finishReason: event.finish_reason,
        state: turn.failure === null ? 'completed' : 'failed',
      };
    default:
      // A newer server may send other events.
      return turn;
  }
}

/** All turns of a conversation: those of the server, and those that were asked here. */
export function combineTurns(
  live: readonly Turn[],
  server: { turns: readonly Turn[]; readAt: number; isUnreachable: boolean },
): Turn[] {
  const known = new Map(server.turns.map((turn) => [turn.requestId, turn]));
  const shown = live.map((turn): Turn => {
    const { requestId, state, leftAt } = turn;
    const isLeft = leftAt !== null && state === 'running';
    if (isLeft && server.isUnreachable) return { ...turn, state: 'lost', confirmation: null };
    const isRead = isLeft ? server.readAt > leftAt : state === 'lost';
    const found = known.get(requestId);
    return isRead && found !== undefined ? continueTurn(found, turn) : turn;
  });
  const ids = new Set(shown.map(({ requestId }) => requestId));
  return [...server.turns.filter(({ requestId }) => !ids.has(requestId)), ...shown];
}

/** A turn as the server knows it, with what was streamed of it before this page stopped following it. */
function continueTurn(known: Turn, streamed: Turn): Turn {
  if (known.state !== 'running') return known;
  const { text, reasoning, sources, iteration } = streamed;
  const calls = streamed.calls.map((call): Call => {
    const isDecided = call.state === 'waiting' && call.id !== known.confirmation?.callId;
    return isDecided ? { ...call, state: 'running' } : call;
  });
  return known.calls.reduce(withCall, { ...known, text, reasoning, sources, iteration, calls });
}

const newCall = { durationMs: null, outcome: null, decision: null } as const;

/** Replaces the unfinished call with the same id, or appends the call. */
function withCall(turn: Turn, call: Call): Turn {
  const at = turn.calls.findLastIndex(
    ({ id, state }) => id === call.id && (state === 'waiting' || state === 'running'),
  );
  const calls = at < 0 ? [...turn.calls, call] : turn.calls.with(at, call);
  return { ...turn, calls };
}

function readConfirmation(asked: Schemas['ChatConfirmation']): Confirmation {
  const { confirm_id: id, name, args, tool_call_id: callId, expires_at } = asked;
  return { id, name, args, callId, expiresAt: Date.parse(expires_at) };
}

function waitingCall({ callId: id, name, args }: Confirmation): Call {
  return { ...newCall, id, name, args, state: 'waiting' };
}

/** The turns of a stored conversation. */
export function readTurns({ messages, running }: Conversation): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const { role, request_id: requestId, content, created_at: askedAt } = message;
    if (role === 'user') {
      turns.push({ ...newTurn({ requestId, question: content, askedAt }), state: 'lost' });
      continue;
    }
    const at = turns.findLastIndex((turn) => turn.requestId === requestId && turn.state === 'lost');
    const answered = readAnswer(
      turns[at] ?? newTurn({ requestId, question: '', askedAt }),
      message,
    );
    if (at < 0) turns.push(answered);
    else turns[at] = answered;
  }
  return turns.map((turn) => {
    const found = running.find(({ request_id }) => request_id === turn.requestId);
    if (turn.state !== 'lost' || !found) return turn;
    const live: Turn = { ...turn, state: 'running' };
    if (found.confirmation === null) return live;
    const confirmation = readConfirmation(found.confirmation);
    return withCall({ ...live, confirmation }, waitingCall(confirmation));
  });
}

function readAnswer(turn: Turn, message: Message): Turn {
  const { content, status, tool_calls, sources, request_id } = message;
  const isFailed = status === 'failed';
  const calls = tool_calls.map(readCall);
  const wasAsked = calls.at(-1)?.decision === 'expired';
  return {
    ...turn,
    state: isFailed ? 'failed' : 'completed',
    text: content,
    reasoning: message.reasoning,
    finishReason: message.finish_reason,
    calls,
    sources,
    failure: isFailed
      ? {
          message: wasAsked
            ? 'The turn ended before you decided: its connection was lost, or it was stopped. Nothing was sent.'
            : 'The turn ended before the answer was complete.',
          code: null,
          requestId: request_id,
        }
      : null,
  };
}

/** A stored call. Any field may be missing, because other programs write that table too. */
function readCall(stored: Partial<Record<string, unknown>>, index: number): Call {
  const { tool_call_id, name, args, success, duration_ms, result, error, decision } = stored;
  const known = (['approved', 'rejected', 'expired'] as const).find((it) => it === decision);
  return {
    id: String(tool_call_id ?? index),
    name: String(name ?? 'tool'),
    args: Object(args) as Record<string, unknown>,
    state: success === true ? 'done' : 'failed',
    durationMs: typeof duration_ms === 'number' ? duration_ms : null,
    outcome: String(result ?? error ?? ''),
    decision: known ?? null,
  };
}
