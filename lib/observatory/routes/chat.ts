import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { searchableTypes } from '../../search/source-types.ts';
import { declareRoute, refused, wrapped } from '../declare.ts';
import { uuid } from '../input.ts';

const common = { tag: 'Chat', access: 'user' } as const;

/** A question to the agent (spec 2, Endpoints; decisions 5). */
export const chatQuestion = memoize(() =>
  z.object({
    session_id: uuid().nullish().meta({
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
  }),
);

const chatBody = memoize(() => chatQuestion().meta({ id: 'ChatQuestion' }));

const toolCall = memoize(() =>
  z
    .object({
      tool_call_id: z.string(),
      name: z.string(),
      args: z.record(z.string(), z.unknown()),
      success: z.boolean(),
      duration_ms: z.number(),
      result: z.string().optional().meta({ description: 'There when it succeeded.' }),
      error: z.string().optional().meta({ description: 'There when it failed or did not run.' }),
    })
    .meta({ id: 'ChatToolCall' }),
);

const source = memoize(() =>
  z
    .object({
      source_type: z.enum(searchableTypes),
      source_id: z.string(),
      title: z.string(),
      snippet: z.string(),
      score: z.number(),
      metadata: z.record(z.string(), z.unknown()),
    })
    .meta({ id: 'ChatSource' }),
);

const chatAnswer = memoize(() =>
  z
    .object({
      request_id: z.string(),
      session_id: z.guid().nullable(),
      question: z.string(),
      answer: z.string(),
      status: z.literal('completed'),
      model: z.string(),
      tool_calls: z.array(toolCall()),
      sources: z.array(source()),
    })
    .meta({ id: 'ChatAnswer' }),
);

const refusedBefore = memoize(() => ({
  400: refused(
    'Malformed input, or MODEL_NOT_ALLOWED for a model that is neither free nor default.',
  ),
  403: refused('The gateway refused your own key (GATEWAY_KEY_INVALID).'),
  404: refused('The session is not yours.'),
  503: refused(
    'GATEWAY_NOT_CONFIGURED, MODEL_REGISTRY_UNAVAILABLE, CREDENTIAL_STORAGE_UNAVAILABLE, or the database is away.',
  ),
}));
const answers = memoize(() => ({
  200: wrapped('The answer.', chatAnswer()),
  ...refusedBefore(),
  402: refused('The gateway is out of credits (GATEWAY_OUT_OF_CREDITS).'),
  429: refused('Too many requests, or GATEWAY_RATE_LIMITED.'),
  502: refused('GATEWAY_BAD_REQUEST, GATEWAY_ERROR or GATEWAY_UNAVAILABLE.'),
  504: refused('The answer took longer than AGENT_REQUEST_DEADLINE_SECONDS (DEADLINE_EXCEEDED).'),
}));

/** POST /chat. */
export const askRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/chat',
  summary: 'Ask the agent about the backups and get its answer as JSON',
  description: 'It never mails a report, because nobody can be asked here: /chat/stream does.',
  idFields: ['session_id'],
  body: { encoding: 'json', schema: chatBody },
  responses: answers,
});

/** GET /chat. */
export const askByQueryRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/chat',
  summary: 'The same with a question in the query',
  idFields: ['session_id'],
  query: chatQuestion,
  responses: answers,
});

/** POST /chat/stream. */
export const chatStreamRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/chat/stream',
  summary: 'Ask the agent and get its answer as Server-Sent Events',
  description:
    'Each frame is `data: <json>` with a type: info first; then agent_reasoning, token, confirm_required, tool_start and tool_end; error when it fails; done last.',
  idFields: ['session_id'],
  body: { encoding: 'json', schema: chatBody },
  responses: () => ({
    200: { description: 'The events of the turn.', contentType: 'text/event-stream' },
    ...refusedBefore(),
  }),
});

/** POST /chat/confirm. */
export const confirmRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/chat/confirm',
  summary: 'Approve or reject a call of a tool that a turn of yours waits with',
  idFields: ['confirm_id'],
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          confirm_id: uuid(),
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
    ),
  },
  responses: () => ({
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
  }),
});

/** POST /api/tools/execute. */
export const executeToolRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/api/tools/execute',
  summary: 'Run one of the tools that only read',
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          name: z.string().min(1).max(200),
          args: z.record(z.string(), z.unknown()).default({}),
        })
        .meta({ id: 'ToolExecution' }),
    ),
  },
  responses: () => ({
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
  }),
});
