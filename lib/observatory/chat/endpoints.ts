import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import type { HttpEnv } from '../../http/env.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { beginTurn } from '../../records/chat-turns.ts';
import { searchableTypes } from '../../search/source-types.ts';
import { runTool } from '../../tools/run-tool.ts';
import { observatoryRoute, refused, sendData, wrapped } from '../answers.ts';
import { uuid } from '../input.ts';
import type { ObservatoryDeps } from '../observatory-deps.ts';
import { decideConfirmation } from './confirmations.ts';
import { cutWhenUnread, EventStream } from './event-stream.ts';
import type { Turn, TurnDeps, TurnOutcome } from './turn.ts';
import { limitTurn, type TurnLimits } from './turn-limits.ts';

const common = { ...observatoryRoute, tag: 'Chat', access: 'user' } as const;

/** A question to the agent. */
const chatQuestion = z.object({
  session_id: uuid.nullish().meta({
    description:
      'The session that the question belongs to; one that is not there yet is made. Left out: none.',
  }),
  question: z.string().trim().min(1).max(10_000),
  model: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .meta({ description: 'A free chat model of the gateway. Default: GATEWAY_MODEL.' }),
});

const chatBody = chatQuestion.meta({ id: 'ChatQuestion' });

const toolCall = z
  .object({
    tool_call_id: z.string(),
    name: z.string(),
    args: z.record(z.string(), z.unknown()),
    success: z.boolean(),
    duration_ms: z.number(),
    result: z.string().optional().meta({ description: 'There when it succeeded.' }),
    error: z.string().optional().meta({ description: 'There when it failed or did not run.' }),
  })
  .meta({ id: 'ChatToolCall' });

const source = z
  .object({
    source_type: z.enum(searchableTypes),
    source_id: z.string(),
    title: z.string(),
    snippet: z.string(),
    score: z.number(),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'ChatSource' });

const chatAnswer = z
  .object({
    request_id: z.string(),
    session_id: z.guid().nullable(),
    question: z.string(),
    answer: z.string(),
    status: z.literal('completed'),
    model: z.string(),
    tool_calls: z.array(toolCall),
    sources: z.array(source),
  })
  .meta({ id: 'ChatAnswer' });

const refusedBefore = {
  400: refused(
    'Malformed input, or MODEL_NOT_ALLOWED for a model that is neither free nor default.',
  ),
  403: refused('The gateway refused your own key (GATEWAY_KEY_INVALID).'),
  404: refused('The session is not yours.'),
  503: refused(
    'GATEWAY_NOT_CONFIGURED, MODEL_REGISTRY_UNAVAILABLE, CREDENTIAL_STORAGE_UNAVAILABLE, or the database is away.',
  ),
};
const answers = {
  200: wrapped('The answer.', chatAnswer),
  ...refusedBefore,
  402: refused('The gateway is out of credits (GATEWAY_OUT_OF_CREDITS).'),
  429: refused('Too many requests, or GATEWAY_RATE_LIMITED.'),
  502: refused('GATEWAY_BAD_REQUEST, GATEWAY_ERROR or GATEWAY_UNAVAILABLE.'),
  504: refused('The answer took longer than AGENT_REQUEST_DEADLINE_SECONDS (DEADLINE_EXCEEDED).'),
};

type Question = z.output<typeof chatQuestion>;

const SESSION_NAME_CHARACTERS = 80;

/** /chat and what is below it, and POST /api/tools/execute. */
export const chatEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat',
      summary: 'Ask the agent about the backups and get its answer as JSON',
      description: 'It never mails a report, because nobody can be asked here: /chat/stream does.',
      idFields: ['session_id'],
      body: { encoding: 'json', schema: chatBody },
      responses: answers,
    },
    ({ body }, deps: ObservatoryDeps, c) => answer(body, deps, c),
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/chat',
      summary: 'The same with a question in the query',
      idFields: ['session_id'],
      query: chatQuestion,
      responses: answers,
    },
    ({ query }, deps: ObservatoryDeps, c) => {
      // A HEAD is for the headers alone: it asks no model and stores nothing.
      if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'application/json' });
      return answer(query, deps, c);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat/stream',
      summary: 'Ask the agent and get its answer as Server-Sent Events',
      description:
        'Each frame is `data: <json>` with a type: info first; then agent_reasoning, token, confirm_required, tool_start and tool_end; error when it fails; done last.',
      idFields: ['session_id'],
      body: { encoding: 'json', schema: chatBody },
      responses: {
        200: { description: 'The events of the turn.', contentType: 'text/event-stream' },
        ...refusedBefore,
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const stream = new EventStream();
      const limits = limitsOf(deps, [c.req.raw.signal, stream.gone]);
      const turn = await prepare(body, deps, c, limits);
      const { signal } = limits;
      const outgoing = c.env?.outgoing;
      const emit: Turn['emit'] = (event) => stream.send(event, signal);
      const work = runTurn(turnDeps(deps, turn), { ...turn, canAsk: true, emit }).finally(() => {
        stream.close();
        limits.release();
        void cutWhenUnread(outgoing, deps.clock);
      });
      deps.waitUntil(work);
      return c.body(stream.body, 200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache',
        // Proxies that buffer would hold the text back.
        'X-Accel-Buffering': 'no',
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat/confirm',
      summary: 'Approve or reject a call of a tool that a turn of yours waits with',
      idFields: ['confirm_id'],
      body: {
        encoding: 'json',
        schema: z
          .object({
            confirm_id: uuid,
            approve: z.boolean().optional(),
            approved: z.boolean().optional().meta({ description: 'The same as approve.' }),
          })
          .refine(({ approve, approved }) => (approve ?? approved) !== undefined, {
            message: 'must be given',
            path: ['approve'],
          })
          .refine(({ approve, approved }) => (approve ?? approved) === (approved ?? approve), {
            message: 'must not differ from approve',
            path: ['approved'],
          })
          .meta({ id: 'ChatDecision' }),
      },
      responses: {
        200: wrapped(
          'It is decided.',
          z.object({
            confirm_id: z.guid(),
            approved: z.boolean(),
            status: z.enum(['approved', 'rejected']),
          }),
        ),
        404: refused('No such confirmation of yours.'),
        409: refused('It was decided already or has expired.'),
        503: refused('The store of confirmations does not answer.'),
      },
    },
    async ({ body }, { chat }: ObservatoryDeps, c) => {
      const { confirm_id, approve, approved = false } = body;
      const status = await decideConfirmation(chat.confirmations, {
        id: confirm_id,
        username: c.get('user'),
        approve: approve ?? approved,
      });
      const data = { confirm_id, approved: status === 'approved', status };
      return sendData(c, 'Decided', data);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/api/tools/execute',
      summary: 'Run one of the tools that only read',
      body: {
        encoding: 'json',
        schema: z
          .object({
            name: z.string().min(1).max(200),
            args: z.record(z.string(), z.unknown()).default({}),
          })
          .meta({ id: 'ToolExecution' }),
      },
      responses: {
        200: wrapped(
          'What the tool answered, or why it could not: success says which.',
          z.object({
            name: z.string(),
            success: z.boolean(),
            duration_ms: z.number(),
            result: z.record(z.string(), z.unknown()).optional(),
            error: z.string().optional(),
          }),
        ),
        403: refused('The tool needs a person’s approval (CONFIRMATION_REQUIRED).'),
        404: refused('There is no tool of this name.'),
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const { chat, clock, log } = deps;
      const { name, args } = body;
      const { explainConfirmation, needsPerson, readTools } = await import('./agent-tools.ts');
      if (needsPerson(name)) {
        throw new AppError('CONFIRMATION_REQUIRED', explainConfirmation(name));
      }
      const tool = readTools.get(name);
      if (!tool) throw new AppError('NOT_FOUND', 'there is no tool of this name');
      const startedAt = clock.now();
      const { signal } = c.req.raw;
      const caller = c.get('user');
      const outcome = await runTool(tool, args, chat.toolsOf(caller), { signal, caller, log });
      const duration_ms = clock.now() - startedAt;
      const data = outcome.ok
        ? { name, success: true, duration_ms, result: outcome.output }
        : { name, success: false, duration_ms, error: outcome.message };
      return sendData(c, outcome.ok ? 'Ran the tool' : 'The tool failed', data);
    },
  ),
];

/** POST and GET /chat: the same turn, without events and without anybody to ask. */
async function answer(
  question: Question,
  deps: ObservatoryDeps,
  c: Context<HttpEnv>,
): Promise<Response> {
  const limits = limitsOf(deps, [c.req.raw.signal]);
  const turn = await prepare(question, deps, c, limits);
  const emit = () => Promise.resolve();
  const work = runTurn(turnDeps(deps, turn), { ...turn, canAsk: false, emit }).finally(
    limits.release,
  );
  deps.waitUntil(work);
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
async function runTurn(deps: TurnDeps, turn: Turn): Promise<TurnOutcome> {
  return (await import('./turn.ts')).runTurn(deps, turn);
}

function limitsOf({ clock, config, chat }: ObservatoryDeps, gone: AbortSignal[]): TurnLimits {
  const deadlineMs = config.AGENT_REQUEST_DEADLINE_SECONDS * 1000;
  return limitTurn({ clock, deadlineMs, gone, stopping: chat.stopping });
}

function turnDeps(deps: ObservatoryDeps, { username }: PreparedTurn): TurnDeps {
  const { clock, config, log, redactor, chat } = deps;
  const { confirmations, transport, toolsOf, reportMail } = chat;
  return {
    observatory: deps,
    clock,
    config,
    log,
    redactor,
    confirmations,
    transport,
    reportMail,
    tools: toolsOf(username),
  };
}

type PreparedTurn = Omit<Turn, 'canAsk' | 'emit'>;

/**
 * All that can be refused before the first event: the model, the keys, the session. Then
 * the question is stored, and nothing but the turn's own end keeps it from being asked.
 */
async function prepare(
  { session_id, question, model }: Question,
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

/** Whatever keeps a question from being stored is the history being away. */
function asUnavailable(cause: unknown): never {
  if (cause instanceof AppError) throw cause;
  throw new AppError('SERVICE_UNAVAILABLE', 'the chat history is unavailable', { cause });
}
