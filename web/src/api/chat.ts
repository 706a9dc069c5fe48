import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { ApiError, api, body, type Schemas } from './client.ts';

export type ChatEvent = Schemas['ChatEvent'];
export type Message = Schemas['ChatMessage'];
export type Session = Schemas['ChatSession'];

export type RunningTurn = Schemas['RunningChatTurn'];

const SESSIONS_AT_ONCE = 50;
const POLL_MS = 1_500;
const POLL_DOWN_MS = 3_000;

/** The conversations, most recently changed first. */
export const sessions = infiniteQueryOptions({
  queryKey: ['chat', 'sessions'],
  queryFn: async ({ pageParam: page }) => {
    const query = { page, limit: SESSIONS_AT_ONCE };
    return (await body(api.GET('/sessions', { params: { query } }))).data;
  },
  initialPageParam: 1,
  getNextPageParam: (last: readonly Session[], all) =>
    last.length === SESSIONS_AT_ONCE ? all.length + 1 : undefined,
});

/** The stored messages of a conversation, and its running turns. */
export interface Conversation {
  messages: readonly Message[];
  running: readonly RunningTurn[];
}

/** The newest messages of a conversation, refreshed while one of its turns runs. */
export const conversation = (id: string, limit: number) =>
  queryOptions({
    queryKey: ['chat', 'conversation', id, limit],
    queryFn: async ({ client, queryKey, signal }): Promise<Conversation> => {
      // Turns first: a turn that has ended since is then among the messages.
      const answer = await api.GET('/chat/turns', {
        params: { query: { session_id: id } },
        signal,
      });
      const running = answer.data?.data ?? [];
      const before = client.getQueryData<Conversation>(queryKey);
      if (before && before.running.length > 0 && isSame(before.running, running)) {
        return { ...before, running };
      }
      const { data: messages } = await body(
        api.GET('/sessions/{id}/messages', {
          params: { path: { id }, query: { limit } },
          signal,
        }),
      );
      return { messages, running };
    },
    refetchInterval: ({ state: { data, error } }) => {
      if ((data?.running.length ?? 0) > 0) return POLL_MS;
      // A server that is down may come back, and know how a turn ended.
      const isDown = error instanceof ApiError && (error.status === 0 || error.status >= 500);
      return isDown ? POLL_DOWN_MS : false;
    },
  });

function isSame(before: readonly RunningTurn[], now: readonly RunningTurn[]): boolean {
  const ids = (turns: readonly RunningTurn[]) => turns.map(({ request_id }) => request_id).join();
  return ids(before) === ids(now);
}

/** Asks a question. Its turn goes on if the user leaves this page. */
export async function askChat(
  asked: { session: string; requestId: string; question: string },
  signal: AbortSignal,
): Promise<AsyncIterable<ChatEvent>> {
  const { data } = await api.POST('/chat/stream', {
    body: { session_id: asked.session, question: asked.question, survives_disconnect: true },
    headers: { 'X-Request-ID': asked.requestId },
    parseAs: 'stream',
    signal,
  });
  if (!data) throw new Error('the response has no body');
  return readEvents(data);
}

async function* readEvents(bytes: ReadableStream<Uint8Array>): AsyncGenerator<ChatEvent> {
  const reader = bytes
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      yield JSON.parse(read.value.data) as ChatEvent;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
