import { AppError } from '../platform/errors.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import {
  createSession,
  deleteSession,
  listMessages,
  listSessions,
  readSession,
  renameSession,
} from '../records/sessions.ts';
import { sendData, sendJsonData } from './answers.ts';
import type { ObservatoryHandles } from './handles.ts';
import { uuid } from './input.ts';
import {
  createSessionRoute,
  deleteSessionRoute,
  listMessagesRoute,
  listSessionsRoute,
  readSessionRoute,
  renameSessionRoute,
} from './routes/sessions.ts';

const PAGE_SIZE = 500;

/** GET and POST /sessions, and what is below /sessions/:id. */
export const sessionsEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(listSessionsRoute, async ({ query }, { db }: ObservatoryHandles, c) => {
    const { page = 1, limit = PAGE_SIZE } = query;
    return sendJsonData(
      c,
      'Read the sessions',
      await listSessions(db, c.get('user'), { page, limit }),
    );
  }),
  endpoint(createSessionRoute, async ({ body }, { db }: ObservatoryHandles, c) => {
    const { id = null, session_name: name = '' } = body;
    const created = await createSession(db, c.get('user'), { id, name });
    if (created === null) throw new AppError('CONFLICT', 'the id of the session is taken');
    return sendJsonData(c, 'Made the session', created, 201);
  }),
  endpoint(readSessionRoute, async ({ params }, { db }: ObservatoryHandles, c) => {
    const id = readSessionId(params.id);
    const found = orNotFound(await readSession(db, c.get('user'), id));
    return sendJsonData(c, 'Read the session', found);
  }),
  endpoint(renameSessionRoute, async ({ params, body }, { db }: ObservatoryHandles, c) => {
    const change = { id: readSessionId(params.id), name: body.session_name };
    const renamed = orNotFound(await renameSession(db, c.get('user'), change));
    return sendJsonData(c, 'Renamed the session', renamed);
  }),
  endpoint(deleteSessionRoute, async ({ params }, { db }: ObservatoryHandles, c) => {
    const id = readSessionId(params.id);
    if (!(await deleteSession(db, c.get('user'), id))) throw notFound();
    return sendData(c, 'Deleted the session', { id, deleted: true });
  }),
  endpoint(listMessagesRoute, async ({ params, query }, handles: ObservatoryHandles, c) => {
    const { db, redactor } = handles;
    const found = await listMessages(db, c.get('user'), {
      id: readSessionId(params.id),
      beforeId: query.before_id ?? null,
      limit: query.limit ?? PAGE_SIZE,
    });
    const messages: { tool_calls: unknown }[] = JSON.parse(orNotFound(found));
    // What a tool answered is of logs and archives, and passes redaction wherever it leaves.
    const shown = messages.map((it) => ({ ...it, tool_calls: redactor.value(it.tool_calls) }));
    return sendData(c, 'Read the messages', shown);
  }),
];

function readSessionId(text: string): string {
  const parsed = uuid().safeParse(text);
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
