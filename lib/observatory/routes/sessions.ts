import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { declareRoute, refused, wrapped } from '../declare.ts';
import { integerQuery, uuid } from '../input.ts';

const common = { tag: 'Sessions', access: 'user' } as const;

const timestamp = memoize(() =>
  z.iso.datetime({ precision: 6 }).meta({
    description: 'ISO 8601 in UTC, with microseconds.',
    example: '2026-01-31T08:15:00.123456Z',
  }),
);

const session = memoize(() =>
  z
    .object({
      id: z.guid(),
      session_name: z.string().meta({ description: 'Empty when it was given none.' }),
      created_at: timestamp(),
      updated_at: timestamp(),
    })
    .meta({ id: 'ChatSession' }),
);
const sessionDetail = memoize(() =>
  z.object({ ...session().shape, message_count: z.int() }).meta({ id: 'ChatSessionDetail' }),
);

const message = memoize(() =>
  z
    .object({
      id: z.int(),
      role: z.enum(['user', 'assistant']),
      content: z.string(),
      created_at: timestamp(),
      request_id: z.string(),
      status: z.enum(['completed', 'failed']).nullable().meta({
        description: 'How the turn of an answer ended; null for a question.',
      }),
      tool_calls: z
        .array(z.looseObject({}))
        .meta({ description: 'The tools that an answer used.' }),
    })
    .meta({ id: 'ChatMessage' }),
);

/** A malformed id is one that no session has: 404, not 400 (spec 2, Endpoints). */
const sessionPath = memoize(() =>
  z.object({ id: z.string().meta({ description: 'Id of a session, a UUID.' }) }),
);
const notFound = memoize(() => refused('No such session of yours.'));
const sessionName = memoize(() => z.string().trim().min(1).max(200));

/** GET /sessions. */
export const listSessionsRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/sessions',
  summary: 'List your chat sessions, the one that changed last first',
  query: memoize(() =>
    z.object({
      page: integerQuery(1, Number.MAX_SAFE_INTEGER, 'Page to read, from 1.').optional(),
      limit: integerQuery(1, 500, 'Sessions on a page. Default 500.').optional(),
    }),
  ),
  responses: () => ({ 200: wrapped('The sessions.', z.array(session())) }),
});

/** POST /sessions. */
export const createSessionRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/sessions',
  summary: 'Make a chat session',
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          id: uuid().optional().meta({ description: 'Random when it is left out.' }),
          session_name: z.string().trim().max(200).optional(),
        })
        .meta({ id: 'NewChatSession' }),
    ),
  },
  responses: () => ({
    201: wrapped('The session.', session()),
    409: refused('The id is taken.'),
  }),
});

/** GET /sessions/:id. */
export const readSessionRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/sessions/:id',
  summary: 'Read a session of yours',
  params: sessionPath,
  responses: () => ({ 200: wrapped('The session.', sessionDetail()), 404: notFound() }),
});

/** PATCH /sessions/:id. */
export const renameSessionRoute = declareRoute({
  ...common,
  method: 'patch',
  path: '/sessions/:id',
  summary: 'Rename a session of yours',
  params: sessionPath,
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z.object({ session_name: sessionName() }).meta({ id: 'ChatSessionChange' }),
    ),
  },
  responses: () => ({ 200: wrapped('The session.', session()), 404: notFound() }),
});

/** DELETE /sessions/:id. */
export const deleteSessionRoute = declareRoute({
  ...common,
  method: 'delete',
  path: '/sessions/:id',
  summary: 'Delete a session of yours with its messages',
  params: sessionPath,
  responses: () => ({
    200: wrapped('It is gone.', z.object({ id: z.guid(), deleted: z.literal(true) })),
    404: notFound(),
  }),
});

/** GET /sessions/:id/messages. */
export const listMessagesRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/sessions/:id/messages',
  summary: 'List the messages of a session of yours, oldest first',
  description: 'The newest ones; `before_id` pages to older ones.',
  params: sessionPath,
  query: memoize(() =>
    z.object({
      limit: integerQuery(1, 500, 'At most so many messages. Default 500.').optional(),
      before_id: integerQuery(
        1,
        Number.MAX_SAFE_INTEGER,
        'Only messages that are older than the one of this id.',
      ).optional(),
    }),
  ),
  responses: () => ({ 200: wrapped('The messages.', z.array(message())), 404: notFound() }),
});
