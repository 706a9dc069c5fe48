import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import type { HttpEnv } from '../../http/env.ts';
import { beginTurn } from '../../records/chat-turns.ts';
import { uuid } from '../base/input.ts';
import type { ObservatoryDeps } from '../base/observatory-deps.ts';
import type { Turn, TurnDeps, TurnOutcome } from './turn.ts';
import { limitTurn, type TurnLimits } from './turn-limits.ts';

/** Maximum characters of a question. */
export const MAX_QUESTION_CHARS = 10_000;

/** A question to the chat. */
export const chatQuestion = z.object({
  session_id: uuid.nullish().meta({
    description:
      'The session that the question belongs to. It is created if it does not exist. Left out: none.',
  }),
  question: z.string().trim().min(1).max(MAX_QUESTION_CHARS),
  model: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .meta({ description: 'A free chat model of the gateway. Default: GATEWAY_MODEL.' }),
});

/** A question whose answer is streamed. */
export const streamedQuestion = chatQuestion
  .extend({
    survives_disconnect: z.boolean().default(false).meta({
      description:
        'Whether the turn continues when you disconnect, instead of being ended. Its answer is then among the messages of the session; GET /chat/turns shows it while it runs.',
    }),
  })
  .refine(({ survives_disconnect, session_id }) => !survives_disconnect || session_id, {
    message: 'needs a session_id, so that the answer can be found later',
    path: ['survives_disconnect'],
  });

type PreparedTurn = Omit<Turn, 'canAsk' | 'emit'>;

const MAX_SESSION_NAME_CHARS = 80;

/**
 * Checks everything that can be refused before the first event (the model, the keys, the session) and stores
 * the question. The limits are released if that fails.
 */
export async function prepareTurn(
  { session_id, question, model }: z.output<typeof chatQuestion>,
  { config, db, gateway, redactor }: ObservatoryDeps,
  c: Context<HttpEnv>,
  limits: TurnLimits,
): Promise<PreparedTurn> {
  const username = c.get('user');
  const requestId = c.get('requestId');
  const sessionId = session_id ?? null;
  try {
    const modelId = model ?? config.GATEWAY_MODEL;
    if (modelId === undefined) {
      const message = 'no model was chosen: name one, or ask the operator to set GATEWAY_MODEL';
      throw new AppError('GATEWAY_NOT_CONFIGURED', message);
    }
    await gateway.registry.requireChatModel(modelId);
    const keys = await gateway.credentials.resolveKeys(username);
    const stored = redactor.text(question);
    const history = await beginTurn(db, {
      username,
      sessionId,
      sessionName: stored.slice(0, MAX_SESSION_NAME_CHARS),
      question: stored,
      requestId,
      historyLimit: config.AGENT_HISTORY_MAX_MESSAGES,
    }).catch(asUnavailable);
    if (history === null) throw new AppError('NOT_FOUND', 'session not found');
    const { signal } = limits;
    return { username, sessionId, requestId, question, model: modelId, keys, history, signal };
  } catch (error) {
    limits.release();
    throw error;
  }
}

/** Any failure to store the question means that the history is unavailable. */
function asUnavailable(cause: unknown): never {
  if (cause instanceof AppError) throw cause;
  throw new AppError('SERVICE_UNAVAILABLE', 'the chat history is unavailable', { cause });
}

/** Limits a turn by the deadline, the end of the process, its user and the given signals of its client. */
export function limitsOf(
  { clock, config, chat }: ObservatoryDeps,
  gone: AbortSignal[],
  stopped: AbortSignal | null = null,
): TurnLimits {
  const deadlineMs = config.AGENT_REQUEST_DEADLINE_SECONDS * 1000;
  return limitTurn({ clock, deadlineMs, gone, stopping: chat.stopping, stopped });
}

/** Runs a prepared turn. The model's SDK and the tools are loaded by the first turn, not by a cold start. */
export async function runPreparedTurn(
  deps: ObservatoryDeps,
  turn: PreparedTurn,
  { canAsk, emit }: Pick<Turn, 'canAsk' | 'emit'>,
): Promise<TurnOutcome> {
  const { clock, config, log, redactor, chat } = deps;
  const { confirmations, transport, toolsOf, reportMail } = chat;
  const turnDeps: TurnDeps = {
    observatory: deps,
    clock,
    config,
    log,
    redactor,
    confirmations,
    transport,
    reportMail,
    tools: toolsOf(turn.username),
  };
  const { runTurn } = await import('./turn.ts');
  return runTurn(turnDeps, { ...turn, canAsk, emit });
}
