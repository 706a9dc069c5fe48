import type { Context } from 'hono';
import type { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import type { HttpEnv } from '../../platform/http/env.ts';
import { type Endpoint, endpoint } from '../../platform/http/route.ts';
import { beginTurn } from '../../records/chat-turns.ts';
import { runTool } from '../../tools/run-tool.ts';
import { sendData } from '../answers.ts';
import type { ObservatoryHandles } from '../handles.ts';
import {
  askByQueryRoute,
  askRoute,
  type chatQuestion,
  chatStreamRoute,
  confirmRoute,
  executeToolRoute,
} from '../routes/chat.ts';
import { decideConfirmation } from './confirmations.ts';
import { cutWhenUnread, EventStream } from './event-stream.ts';
import type { Turn, TurnHandles, TurnOutcome } from './turn.ts';
import { limitTurn, type TurnLimits } from './turn-limits.ts';

type Question = z.output<ReturnType<typeof chatQuestion>>;

const SESSION_NAME_CHARACTERS = 80;

/** /chat and what is below it, and POST /api/tools/execute. */
export const chatEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(askRoute, ({ body }, handles: ObservatoryHandles, c) => answer(body, handles, c)),
  endpoint(askByQueryRoute, ({ query }, handles: ObservatoryHandles, c) => {
    // A HEAD is for the headers alone: it asks no model and stores nothing.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'application/json' });
    return answer(query, handles, c);
  }),
  endpoint(chatStreamRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const stream = new EventStream();
    const limits = limitsOf(handles, [c.req.raw.signal, stream.gone]);
    const turn = await prepare(body, handles, c, limits);
    const { signal } = limits;
    const outgoing = c.env?.outgoing;
    const emit: Turn['emit'] = (event) => stream.send(event, signal);
    const work = runTurn(turnHandles(handles, turn), { ...turn, canAsk: true, emit }).finally(
      () => {
        stream.close();
        limits.release();
        void cutWhenUnread(outgoing, handles.clock);
      },
    );
    handles.waitUntil(work);
    return c.body(stream.body, 200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      // Proxies that buffer would hold the text back.
      'X-Accel-Buffering': 'no',
    });
  }),
  endpoint(confirmRoute, async ({ body }, { chat }: ObservatoryHandles, c) => {
    const { confirm_id, approve, approved = false } = body;
    const status = await decideConfirmation(chat.confirmations, {
      id: confirm_id,
      username: c.get('user'),
      approve: approve ?? approved,
    });
    const data = { confirm_id, approved: status === 'approved', status };
    return sendData(c, 'Decided', data);
  }),
  endpoint(executeToolRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const { chat, clock, log, redactor } = handles;
    const { name, args } = body;
    const { needsPerson, readTools } = await import('./agent-tools.ts');
    if (needsPerson(name)) {
      const message = `${name} needs a person's approval: ask for it in the streaming chat`;
      throw new AppError('CONFIRMATION_REQUIRED', message);
    }
    const tool = readTools.get(name);
    if (!tool) throw new AppError('NOT_FOUND', 'there is no tool of this name');
    const startedAt = clock.now();
    const { signal } = c.req.raw;
    const outcome = await runTool(tool, args, chat.toolsOf(c.get('user')), { signal, log });
    const duration_ms = clock.now() - startedAt;
    const data = outcome.ok
      ? { name, success: true, duration_ms, result: redactor.value(outcome.output) }
      : { name, success: false, duration_ms, error: redactor.text(outcome.message) };
    return sendData(c, outcome.ok ? 'Ran the tool' : 'The tool failed', data);
  }),
];

/** POST and GET /chat: the same turn, without events and without anybody to ask (spec 2, rule 4). */
async function answer(
  question: Question,
  handles: ObservatoryHandles,
  c: Context<HttpEnv>,
): Promise<Response> {
  const limits = limitsOf(handles, [c.req.raw.signal]);
  const turn = await prepare(question, handles, c, limits);
  const emit = () => Promise.resolve();
  const work = runTurn(turnHandles(handles, turn), { ...turn, canAsk: false, emit }).finally(
    limits.release,
  );
  handles.waitUntil(work);
  const { answer, sources, toolCalls, failure } = await work;
  if (failure !== null) throw failure;
  return sendData(c, 'Answered', {
    request_id: turn.requestId,
    session_id: turn.sessionId,
    question: turn.question,
    answer,
    status: 'completed',
    model: turn.model,
    tool_calls: toolCalls,
    sources,
  });
}

/** The agent and its tools are much: they are loaded by the first turn, not by every cold start. */
async function runTurn(handles: TurnHandles, turn: Turn): Promise<TurnOutcome> {
  return (await import('./turn.ts')).runTurn(handles, turn);
}

function limitsOf({ clock, config, chat }: ObservatoryHandles, gone: AbortSignal[]): TurnLimits {
  const deadlineMs = config.AGENT_REQUEST_DEADLINE_SECONDS * 1000;
  return limitTurn({ clock, deadlineMs, gone, stopping: chat.stopping });
}

function turnHandles(handles: ObservatoryHandles, { username }: PreparedTurn): TurnHandles {
  const { clock, config, log, redactor, chat } = handles;
  const { confirmations, streams, toolsOf, sendReportEmail } = chat;
  return {
    observatory: handles,
    clock,
    config,
    log,
    redactor,
    confirmations,
    streams,
    sendReportEmail,
    tools: toolsOf(username),
  };
}

type PreparedTurn = Omit<Turn, 'canAsk' | 'emit'>;

/**
 * All that can be refused before the first event: the model, the keys, the session (spec 2, Events). Then
 * the question is stored, and nothing but the turn's own end keeps it from being asked.
 */
async function prepare(
  { session_id, question, model }: Question,
  { config, db, gateway, redactor }: ObservatoryHandles,
  c: Context<HttpEnv>,
  limits: TurnLimits,
): Promise<PreparedTurn> {
  const username = c.get('user');
  const requestId = c.get('requestId');
  const sessionId = session_id ?? null;
  try {
    const modelId = model ?? config.GATEWAY_MODEL;
    if (modelId === undefined) {
      const message = 'no model: name one, or let the operator set GATEWAY_MODEL';
      throw new AppError('GATEWAY_NOT_CONFIGURED', message);
    }
    await gateway.registry.requireChatModel(modelId);
    const keys = await gateway.credentials.resolveKeys(username);
    const stored = redactor.text(question);
    const history = await beginTurn(db, {
      username,
      sessionId,
      sessionName: stored.slice(0, SESSION_NAME_CHARACTERS),
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

/** Whatever keeps a question from being stored is the history being away (spec 2, Errors, 503). */
function asUnavailable(cause: unknown): never {
  if (cause instanceof AppError) throw cause;
  throw new AppError('SERVICE_UNAVAILABLE', 'the chat history is unavailable', { cause });
}
