import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import type { HttpEnv } from '../../http/env.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { searchableTypes } from '../../search/source-types.ts';
import { runTool } from '../../tools/run-tool.ts';
import { rejectForeignChange } from '../../users/user-check.ts';
import { observatoryRoute, refused, sendData, wrapped } from '../answers.ts';
import { uuid } from '../input.ts';
import type { ObservatoryDeps } from '../observatory-deps.ts';
import { ChatStream, cutWhenUnread } from './chat-stream.ts';
import { decideConfirmation } from './confirmations.ts';
import type { ChatEvent } from './events.ts';
import { chatQuestion, limitsOf, prepareTurn, runPreparedTurn } from './prepare-turn.ts';

const common = { ...observatoryRoute, tag: 'Chat', access: 'user' } as const;

const chatBody = chatQuestion.meta({ id: 'ChatQuestion' });

const toolCall = z
  .object({
    tool_call_id: z.string(),
    name: z.string(),
    args: z.record(z.string(), z.unknown()),
    success: z.boolean(),
    duration_ms: z.number(),
    result: z.string().optional().meta({ description: 'If it succeeded.' }),
    error: z.string().optional().meta({ description: 'If it failed or did not run.' }),
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
    'Malformed input, or MODEL_NOT_ALLOWED for a model that is neither free nor the default.',
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

/** The endpoints of /chat, and POST /api/tools/execute. */
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
        'Each frame is `data: <json>` with a type: info first; then agent_reasoning, token, confirm_required, tool_start and tool_end; error when it fails; done last.',
      idFields: ['session_id'],
      body: { encoding: 'json', schema: chatBody },
      responses: {
        200: { description: 'The events of the turn.', contentType: 'text/event-stream' },
        ...refusedBefore,
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const stream = new ChatStream();
      const limits = limitsOf(deps, [c.req.raw.signal, stream.gone]);
      const turn = await prepareTurn(body, deps, c, limits);
      const outgoing = c.env?.outgoing;
      const emit = (event: ChatEvent) => stream.send(event, limits.signal);
      const work = runPreparedTurn(deps, turn, { canAsk: true, emit }).finally(() => {
        stream.close();
        limits.release();
        void cutWhenUnread(outgoing, deps.clock);
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
      path: '/chat/confirm',
      summary: 'Approve or reject a tool call that one of your turns waits for',
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
          'The decision was stored.',
          z.object({
            confirm_id: z.guid(),
            approved: z.boolean(),
            status: z.enum(['approved', 'rejected']),
          }),
        ),
        404: refused('No such confirmation of yours.'),
        409: refused('It was already decided or has expired.'),
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

/** Runs a turn without events and without anybody to ask, for POST and GET /chat. */
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
