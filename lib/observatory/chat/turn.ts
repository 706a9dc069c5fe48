import type { ModelMessage } from 'ai';
import { orAborted } from '../../async.ts';
import { AppError } from '../../errors.ts';
import type { KeyRing } from '../../gateway/keys.ts';
import type { GatewayTransport } from '../../gateway/transport.ts';
import { endTurn, type HistoryMessage } from '../../records/chat-turns.ts';
import {
  type ChatSource,
  type Emit,
  eventCodeOf,
  type FinishReason,
  type ToolExecution,
} from '../base/chat-events.ts';
import type { ObservatoryDeps } from '../base/observatory-deps.ts';
import { askModel } from './ask-model.ts';
import { writeInstructions, writeMessages } from './instructions.ts';
import { findChatSources } from './sources.ts';
import { type CallingDeps, callTool, type FinishedCall } from './tool-calls.ts';

export interface TurnDeps extends CallingDeps {
  observatory: ObservatoryDeps;
  transport: GatewayTransport;
}

/** A question that is stored and ready to be asked. */
export interface Turn {
  username: string;
  sessionId: string | null;
  requestId: string;
  question: string;
  model: string;
  keys: KeyRing;
  history: HistoryMessage[];
  canAsk: boolean;
  /** Aborts at the deadline, when the client disconnects and when the process ends. */
  signal: AbortSignal;
  emit: Emit;
}

/** How a turn ended. */
export interface TurnOutcome {
  answer: string;
  /** What the model said before its answer. */
  reasoning: string;
  /** Why the answer ended; null if it failed. */
  finishReason: FinishReason | null;
  sources: ChatSource[];
  toolCalls: ToolExecution[];
  /** Null if it completed. */
  failure: AppError | null;
}

/** Maximum requests to the model in one turn. In the last one it may not call tools. */
const MAX_ITERATIONS = 12;
/** Further tool calls in one answer of the model are ignored. */
const MAX_CALLS_AT_ONCE = 12;
/** Maximum characters of an answer with its reasoning, to stop a model that does not end. */
const MAX_ANSWER_CHARS = 1_000_000;

/**
 * Runs a turn from its first event, info, to its last, done, and stores the outcome before sending done.
 * Never throws: a failure is part of the outcome and is sent as an error event.
 */
export async function runTurn(deps: TurnDeps, turn: Turn): Promise<TurnOutcome> {
  const { requestId: request_id, emit, signal } = turn;
  const outcome: TurnOutcome = {
    answer: '',
    reasoning: '',
    finishReason: null,
    sources: [],
    toolCalls: [],
    failure: null,
  };
  let isIntroduced = false;
  const introduce = async () => {
    if (isIntroduced) return;
    isIntroduced = true;
    const { sources } = outcome;
    await emit({ type: 'info', request_id, session_id: turn.sessionId, sources });
  };
  try {
    outcome.sources = await orAborted(signal, (searching) =>
      findChatSources(deps.observatory, { ...turn, signal: searching }),
    );
    await introduce();
    await converse(deps, turn, outcome);
    signal.throwIfAborted();
  } catch (error) {
    outcome.failure = asFailure(error, deps, request_id);
  }
  await introduce();
  await storeTurn(deps, turn, outcome);
  const { failure, answer, finishReason: finish_reason } = outcome;
  if (failure === null) {
    await emit({ type: 'done', answer, request_id, finish_reason });
    return outcome;
  }
  outcome.finishReason = null;
  const { code, message } = failure;
  await emit({ type: 'error', message, code: eventCodeOf(code), request_id });
  const ended = `${answer}${answer && '\n\n'}${message}`;
  await emit({ type: 'done', answer: ended, request_id, finish_reason: null });
  return outcome;
}

/** Asks the model and runs its tools until it calls none. Fills in the outcome as it goes. */
async function converse(deps: TurnDeps, turn: Turn, outcome: TurnOutcome): Promise<void> {
  const { redactor, clock, transport } = deps;
  const { model, keys, canAsk, signal, emit, requestId } = turn;
  const instructions = writeInstructions({
    now: clock.now(),
    canAsk,
    mail: deps.reportMail.describe(),
  });
  const messages = writeMessages(turn.history, redactor.text(turn.question), outcome.sources);
  for (let iteration = 1; iteration <= MAX_ITERATIONS; iteration += 1) {
    await emit({ type: 'agent_reasoning', iteration, request_id: requestId });
    let [hasSpoken, hasReasoned] = [false, false];
    const startsAt = outcome.answer.length;
    const said = await askModel(transport, {
      model,
      keys,
      instructions,
      messages,
      mayCallTools: iteration < MAX_ITERATIONS,
      signal,
      async onPiece({ kind, text: piece, endsHidden }) {
        if (endsHidden) {
          const text = outcome.answer.slice(startsAt);
          outcome.answer = outcome.answer.slice(0, startsAt);
          outcome.reasoning += text;
          hasSpoken = false;
          if (text !== '') await emit({ type: 'reasoning', text, replaces_text: true });
          return;
        }
        const isFirst = kind === 'reasoning' ? !hasReasoned : !hasSpoken;
        const soFar = kind === 'reasoning' ? outcome.reasoning : outcome.answer;
        const text = isFirst ? continueText(soFar, piece) : piece;
        if (text === '') return;
        if (outcome.answer.length + outcome.reasoning.length + text.length > MAX_ANSWER_CHARS) {
          throw new AppError('GATEWAY_ERROR', "the model's answer is too long");
        }
        if (kind === 'reasoning') {
          hasReasoned = true;
          outcome.reasoning += text;
          await emit({ type: 'reasoning', text });
        } else {
          hasSpoken = true;
          outcome.answer += text;
          await emit({ type: 'token', text });
        }
      },
    });
    if (said.calls.length === 0) {
      outcome.finishReason = said.finishReason;
      // An answer that was cut off or withheld may be empty.
      if (said.text.trim() === '' && said.finishReason === 'stop') {
        throw new AppError('GATEWAY_ERROR', 'the model gave no answer');
      }
      return;
    }
    if (iteration === MAX_ITERATIONS) break;
    const finished: FinishedCall[] = [];
    for (const call of said.calls.slice(0, MAX_CALLS_AT_ONCE)) {
      const one = await callTool(deps, call, turn);
      finished.push(one);
      outcome.toolCalls.push(one.execution);
      signal.throwIfAborted();
    }
    messages.push(...writeStep(said.text, finished));
  }
  throw new AppError('GATEWAY_ERROR', 'the model kept calling tools and gave no answer');
}

/** The start of an iteration's text, separated by one blank line from the text of earlier iterations. */
function continueText(answer: string, words: string): string {
  const said = answer.trimEnd();
  if (said === '') return words;
  const rest = words.replace(/^[\r\n]+/, '');
  if (rest === '') return '';
  const newlines = answer.slice(said.length).split('\n').length - 1;
  return '\n'.repeat(Math.max(0, 2 - newlines)) + rest;
}

/** The model's text and tool calls, and their results, as messages of the conversation. */
function writeStep(text: string, finished: readonly FinishedCall[]): ModelMessage[] {
  return [
    {
      role: 'assistant',
      content: [
        ...(text === '' ? [] : [{ type: 'text' as const, text }]),
        ...finished.map(({ execution }) => ({
          type: 'tool-call' as const,
          toolCallId: execution.tool_call_id,
          toolName: execution.name,
          input: execution.args,
        })),
      ],
    },
    {
      role: 'tool',
      content: finished.map(({ execution, forModel }) => ({
        type: 'tool-result' as const,
        toolCallId: execution.tool_call_id,
        toolName: execution.name,
        output: { type: execution.success ? 'text' : 'error-text', value: forModel },
      })),
    },
  ];
}

/** Converts an error, or the reason of the turn's signal, to one that a client may read. */
function asFailure(error: unknown, { log }: TurnDeps, requestId: string): AppError {
  if (error instanceof AppError && error.code !== 'INTERNAL_ERROR') {
    if (error.cause !== undefined) {
      log.warn('a turn of the chat failed', { request_id: requestId, error });
    }
    return error;
  }
  log.error('a turn of the chat failed', { request_id: requestId, error });
  return new AppError('INTERNAL_ERROR', 'Internal server error', { cause: error });
}

/** Stores the outcome, without secrets: other programs read the table, and search finds it. */
async function storeTurn(deps: TurnDeps, turn: Turn, outcome: TurnOutcome): Promise<void> {
  const { observatory, redactor, log } = deps;
  const { username, sessionId, requestId } = turn;
  try {
    await endTurn(observatory.db, {
      username,
      sessionId,
      requestId,
      status: outcome.failure === null ? 'completed' : 'failed',
      answer: redactor.text(outcome.answer),
      reasoning: redactor.text(outcome.reasoning),
      finishReason: outcome.failure === null ? outcome.finishReason : null,
      toolCalls: redactor.value(outcome.toolCalls),
      sources: redactor.value(outcome.sources),
    });
  } catch (error) {
    log.error('a turn of the chat could not be stored', { request_id: requestId, error });
    const message = 'the answer could not be stored in the history';
    outcome.failure ??= new AppError('SERVICE_UNAVAILABLE', message, { cause: error });
  }
}
