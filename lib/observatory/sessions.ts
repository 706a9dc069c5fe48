import * as z from 'zod';
import { AppError } from '../errors.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import {
  createSession,
  deleteSession,
  listMessages,
  listSessions,
  readSession,
  renameSession,
} from '../records/sessions.ts';
import { splitReasoning } from '../text/reasoning.ts';
import { observatoryRoute, refused, sendData, sendJsonData, wrapped } from './base/answers.ts';
import { answerEnd, type ChatSource, chatSource, finishReason } from './base/chat-events.ts';
import { integerQuery, uuid } from './base/input.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

const common = { ...observatoryRoute, tag: 'Sessions', access: 'user' } as const;

const timestamp = z.iso.datetime({ precision: 6 }).meta({
  description: 'ISO 8601 in UTC, with microseconds.',
  example: '2026-01-31T08:15:00.123456Z',
});

const session = z
  .object({
    id: z.guid(),
    session_name: z.string().meta({ description: 'Empty if it has no name.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ChatSession' });
const sessionDetail = z
  .object({ ...session.shape, message_count: z.int() })
  .meta({ id: 'ChatSessionDetail' });

const message = z
  .object({
    id: z.int(),
    role: z.enum(['user', 'assistant']),
    content: z.string(),
    created_at: timestamp,
    request_id: z.string(),
    status: z.enum(['completed', 'failed']).nullable().meta({
      description: 'How the turn ended; null for a question.',
    }),
    tool_calls: z.array(z.looseObject({})).meta({ description: 'The tools that an answer used.' }),
    sources: z.array(chatSource).meta({
      description: 'What the search found for the question, as sent in the `info` event.',
    }),
    reasoning: z.string().meta({ description: 'What the model said before its answer.' }),
    finish_reason: answerEnd,
  })
  .meta({ id: 'ChatMessage' });

/** A malformed id is 404, like an unknown one. */
const sessionPath = z.object({ id: z.string().meta({ description: 'Id of a session, a UUID.' }) });
const unknownSession = refused('You have no such session.');
const sessionName = z.string().trim().min(1).max(200);

const PAGE_SIZE = 500;

/** The endpoints of /sessions. */
export const sessionsEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/sessions',
      summary: 'List your chat sessions, the latest changed first',
      query: z.object({
        page: integerQuery(1, Number.MAX_SAFE_INTEGER, 'Page to read, from 1.').optional(),
        limit: integerQuery(1, 500, 'Sessions on a page. Default 500.').optional(),
      }),
      responses: { 200: wrapped('The sessions.', z.array(session)) },
    },
    async ({ query }, { db }: ObservatoryDeps, c) => {
      const { page = 1, limit = PAGE_SIZE } = query;
      return sendJsonData(
        c,
        'Read the sessions',
        await listSessions(db, c.get('user'), { page, limit }),
      );
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/sessions',
      summary: 'Create a chat session',
      body: {
        encoding: 'json',
        schema: z
          .object({
            id: uuid.optional().meta({ description: 'Random if left out.' }),
            session_name: z.string().trim().max(200).optional(),
          })
          .meta({ id: 'NewChatSession' }),
      },
      responses: {
        201: wrapped('The session.', session),
        409: refused('A session with this id exists.'),
      },
    },
    async ({ body }, { db }: ObservatoryDeps, c) => {
      const { id = null, session_name: name = '' } = body;
      const created = await createSession(db, c.get('user'), { id, name });
      if (created === null) throw new AppError('CONFLICT', 'a session with this id already exists');
      return sendJsonData(c, 'Created the session', created, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/sessions/:id',
      summary: 'Read one of your sessions',
      params: sessionPath,
      responses: { 200: wrapped('The session.', sessionDetail), 404: unknownSession },
    },
    async ({ params }, { db }: ObservatoryDeps, c) => {
      const id = readSessionId(params.id);
      const found = orNotFound(await readSession(db, c.get('user'), id));
      return sendJsonData(c, 'Read the session', found);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'patch',
      path: '/sessions/:id',
      summary: 'Rename one of your sessions',
      params: sessionPath,
      body: {
        encoding: 'json',
        schema: z.object({ session_name: sessionName }).meta({ id: 'ChatSessionChange' }),
      },
      responses: { 200: wrapped('The session.', session), 404: unknownSession },
    },
    async ({ params, body }, { db }: ObservatoryDeps, c) => {
      const change = { id: readSessionId(params.id), name: body.session_name };
      const renamed = orNotFound(await renameSession(db, c.get('user'), change));
      return sendJsonData(c, 'Renamed the session', renamed);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/sessions/:id',
      summary: 'Delete one of your sessions with its messages',
      params: sessionPath,
      responses: {
        200: wrapped(
          'The session was deleted.',
          z.object({ id: z.guid(), deleted: z.literal(true) }),
        ),
        404: unknownSession,
      },
    },
    async ({ params }, { db }: ObservatoryDeps, c) => {
      const id = readSessionId(params.id);
      if (!(await deleteSession(db, c.get('user'), id))) throw notFound();
      return sendData(c, 'Deleted the session', { id, deleted: true });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/sessions/:id/messages',
      summary: 'List the messages of one of your sessions, oldest first',
      description: 'Returns the newest messages; use `before_id` for older ones.',
      params: sessionPath,
      query: z.object({
        limit: integerQuery(1, 500, 'Maximum number of messages. Default 500.').optional(),
        before_id: integerQuery(
          1,
          Number.MAX_SAFE_INTEGER,
          'Only messages older than the message with this id.',
        ).optional(),
      }),
      responses: { 200: wrapped('The messages.', z.array(message)), 404: unknownSession },
    },
    async ({ params, query }, deps: ObservatoryDeps, c) => {
      const { db, redactor } = deps;
      const found = await listMessages(db, c.get('user'), {
        id: readSessionId(params.id),
        beforeId: query.before_id ?? null,
        limit: query.limit ?? PAGE_SIZE,
      });
      const messages: StoredMessage[] = JSON.parse(orNotFound(found));
      // Tool results and sources contain logs and archives, so they are redacted whenever they are sent.
      const shown = messages.map((it) => ({
        ...it,
        ...readAnswer(it),
        tool_calls: redactor.value(it.tool_calls),
        sources: readSources(redactor.value(it.sources)),
      }));
      return sendData(c, 'Read the messages', shown);
    },
  ),
];

interface StoredMessage {
  role: string;
  content: string;
  reasoning: string;
  finish_reason: string | null;
  tool_calls: unknown;
  sources: unknown;
}

/** Older versions stored an answer with its reasoning, and other programs may store any reason. */
function readAnswer({ role, content, reasoning, finish_reason }: StoredMessage) {
  const stored = role === 'user' ? { text: content, reasoning: '' } : splitReasoning(content);
  return {
    content: stored.text,
    reasoning: reasoning || stored.reasoning,
    finish_reason: finishReason.safeParse(finish_reason).data ?? null,
  };
}

/** Reads stored sources. Other programs write that table, too, so anything else in it is left out. */
function readSources(stored: unknown): ChatSource[] {
  const list: unknown[] = Array.isArray(stored) ? stored : [];
  return list.flatMap((it) => chatSource.safeParse(it).data ?? []);
}

function readSessionId(text: string): string {
  const parsed = uuid.safeParse(text);
  if (!parsed.success) throw notFound();
  return parsed.data;
}

function orNotFound(found: string | null): string {
  if (found === null) throw notFound();
  return found;
}

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'session not found');
}
