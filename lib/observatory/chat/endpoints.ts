import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import type { HttpEnv } from '../../http/env.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { runTool } from '../../tools/run-tool.ts';
import { rejectForeignChange } from '../../users/user-check.ts';
import { observatoryRoute, refused, sendData, wrapped } from '../base/answers.ts';
import {
  answerEnd,
  type ChatEvent,
  chatEvent,
  chatSource,
  toolExecution,
} from '../base/chat-events.ts';
import type { ObservatoryDeps } from '../base/observatory-deps.ts';
import type { FollowedTurn } from '../base/running-turns.ts';
import { ChatStream, cutWhenUnread } from './chat-stream.ts';
import {
  chatQuestion,
  limitsOf,
  prepareTurn,
  runPreparedTurn,
  streamedQuestion,
} from './prepare-turn.ts';

const common = { ...observatoryRoute, tag: 'Chat', access: 'user' } as const;

const chatBody = chatQuestion.meta({ id: 'ChatQuestion' });

const chatAnswer = z
  .object({
    request_id: z.string(),
    session_id: z.guid().nullable(),
    question: z.string(),
    answer: z.string(),
    reasoning: z.string().meta({ description: 'What the model said before its answer.' }),
    status: z.literal('completed'),
    finish_reason: answerEnd,
    model: z.string(),
    tool_calls: z.array(toolExecution),
    sources: z.array(chatSource),
  })
  .meta({ id: 'ChatAnswer' });

const refusedBefore = {
  400: refused(
    'Malformed input, or MODEL_NOT_ALLOWED for a model that is neither free nor the default.',
  ),
  403: refused('The gateway refused your own key (GATEWAY_KEY_INVALID).'),
  404: refused('The session is not yours.'),
  503: refused(
    'GATEWAY_NOT_CONFIGURED, MODEL_REGISTRY_UNAVAILABLE, CREDENTIAL_STORAGE_UNAVAILABLE, or the database is down.',
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

/** POST and GET /chat, POST /chat/stream and POST /api/tools/execute. */
export const chatEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat',
      summary: 'Ask about the backups and get the answer as JSON',
      description:
        'Never mails a report, because nobody can be asked for approval here; /chat/stream can.',
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
      isReading: false,
      summary: 'Ask with the question in the query',
      idFields: ['session_id'],
      query: chatQuestion,
      responses: answers,
    },
    ({ query }, deps: ObservatoryDeps, c) => {
      // A HEAD request only gets headers: it asks no model and stores nothing.
      if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'application/json' });
      rejectForeignChange(c);
      return answer(query, deps, c);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat/stream',
      summary: 'Ask about the backups and get the answer as Server-Sent Events',
      description:
        'Each frame is `data: <json>` with a type: info first; then agent_reasoning, reasoning, token, confirm_required, tool_start and tool_end; error when it fails; done last. A comment, `: ping`, is sent every 15 seconds.',
      idFields: ['session_id'],
      body: { encoding: 'json', schema: streamedQuestion.meta({ id: 'ChatStreamQuestion' }) },
      responses: {
        200: {
          description: 'The events of the turn, each a ChatEvent.',
          contentType: 'text/event-stream',
          eventSchema: chatEvent,
        },
        ...refusedBefore,
        429: refused('Too many requests, or too many of your turns are running.'),
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const stream = new ChatStream(c.req.raw.signal);
      const followed = await followTurn(body, deps, c);
      const limits = limitsOf(deps, followed ? [] : [stream.gone], followed?.stopped);
      const turn = await prepareTurn(body, deps, c, limits).catch(async (error: unknown) => {
        await followed?.end();
        throw error;
      });
      const outgoing = c.env?.outgoing;
      void stream.keepAlive(deps.clock);
      const emit = async (event: ChatEvent) => {
        await followed?.note(event);
        await stream.send(event, limits.signal);
      };
      const work = runPreparedTurn(deps, turn, { canAsk: true, emit }).finally(async () => {
        stream.close();
        limits.release();
        void cutWhenUnread(outgoing, deps.clock);
        await followed?.end();
      });
      deps.waitUntil(work);
      return c.body(stream.body, 200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache',
        // Keeps proxies from buffering the text.
        'X-Accel-Buffering': 'no',
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/api/tools/execute',
      summary: 'Run a tool that only reads',
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
          'The answer of the tool, or its error: success says which.',
          z.object({
            name: z.string(),
            success: z.boolean(),
            duration_ms: z.number(),
            result: z.record(z.string(), z.unknown()).optional(),
            error: z.string().optional(),
          }),
        ),
        403: refused('The tool needs a person’s approval (CONFIRMATION_REQUIRED).'),
        404: refused('There is no tool with this name.'),
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
      if (!tool) throw new AppError('NOT_FOUND', 'there is no tool with this name');
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

/** Registers a turn that survives its client, so that its user can find it; null for any other turn. */
async function followTurn(
  { survives_disconnect, session_id }: z.output<typeof streamedQuestion>,
  { chat }: ObservatoryDeps,
  c: Context<HttpEnv>,
): Promise<FollowedTurn | null> {
  if (!survives_disconnect || !session_id) return null;
  const [username, requestId] = [c.get('user'), c.get('requestId')];
  return chat.runningTurns.begin({ username, sessionId: session_id, requestId });
}

/** Runs a turn for POST and GET /chat: without events, and without a person to ask. */
async function answer(
  question: z.output<typeof chatQuestion>,
  deps: ObservatoryDeps,
  c: Context<HttpEnv>,
): Promise<Response> {
  const limits = limitsOf(deps, [c.req.raw.signal]);
  const turn = await prepareTurn(question, deps, c, limits);
  const emit = () => Promise.resolve();
  const work = runPreparedTurn(deps, turn, { canAsk: false, emit }).finally(limits.release);
  deps.waitUntil(work);
  const { answer, reasoning, finishReason, sources, toolCalls, failure } = await work;
  if (failure !== null) throw failure;
  return sendData(c, 'Answered', {
    request_id: turn.requestId,
    session_id: turn.sessionId,
    question: turn.question,
    answer,
    reasoning,
    status: 'completed',
    finish_reason: finishReason,
    model: turn.model,
    tool_calls: toolCalls,
    sources,
  });
}
