import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  askStream,
  type ChatServer,
  chatEnvironment,
  type EventReader,
  emptyChat,
  scriptChat,
  startChatServer,
} from './chat.ts';
import type { TestDatabase } from './databases.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { latest } from './hooks.ts';
import { hasRedisServer } from './redis-server.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts';
import { startUpstashRest, type UpstashRest } from './upstash-rest.ts';

/** What the scripted model mails, and how it calls the tool. */
export const mailArguments = {
  subject: 'The week',
  recipients: ['ops@example.com'],
  content_markdown: '# All is well',
};
export const mailCall = { id: 'call_mail', name: 'send_report_email', args: mailArguments };

/** A chat whose model wants to mail a report, with the services that it needs. */
export interface MailChat {
  gateway: Gateway;
  mail: ScriptedServer;
  /** How the mail service answers. */
  answerMail: () => ScriptedAnswer;
  /** Starts a process of the observatory. */
  start(environment?: Record<string, string>): Promise<ChatServer>;
  /** Asks for a mail and waits until the person is asked to confirm. */
  askForMail(server: ChatServer): Promise<{ client: EventReader; confirm_id: string }>;
  /** Ends the services and every process that was started. */
  close(): Promise<void>;
}

/** Starts a chat on a database, and empties the chat there. */
export async function startMailChat({ db }: TestDatabase): Promise<MailChat> {
  await emptyChat(db);
  const gateway = await startGateway();
  const mail = await startScriptedServer(() => chat.answerMail());
  const servers: ChatServer[] = [];
  const chat: MailChat = {
    gateway,
    mail,
    answerMail: () => ({ body: { id: randomUUID() } }),
    async start(environment = {}) {
      const server = await startChatServer({
        db,
        environment: {
          ...chatEnvironment(gateway),
          RESEND_API_KEY: 're_key_of_the_tests_0001',
          RESEND_BASE_URL: mail.url,
          SMTP_FROM: 'backups@example.com',
          SMTP_TO: 'ops@example.com',
          ...environment,
        },
      });
      servers.push(server);
      return server;
    },
    async askForMail(server) {
      scriptChat(gateway, { calls: [mailCall] }, { text: ['As you say.'] });
      const client = await askStream(server, { question: 'Mail the week.' });
      const { confirm_id } = await client.until('confirm_required');
      return { client, confirm_id };
    },
    async close() {
      for (const server of servers) await server.close();
      await gateway.close();
      await mail.close();
    },
  };
  return chat;
}

/** Gives each test of a file a chat that wants to mail a report, over the file's database. */
export function useMailChat(database: TestDatabase): MailChat {
  let chat: MailChat;
  beforeEach(async () => {
    chat = await startMailChat(database);
  });
  afterEach(() => chat.close());
  return latest(() => chat);
}

/** Where a chat keeps what must outlast a request. For `describe.each`. */
export const stores = [
  ['in the process', false],
  ['in Redis', true],
] as const;

/** Gives the tests of a group one of these stores. They are skipped if they need a Redis and there is none. */
export function useStore(chat: MailChat, inRedis: boolean) {
  let redis: UpstashRest | null = null;
  beforeAll(async () => {
    if (inRedis && hasRedisServer) redis = await startUpstashRest();
  });
  afterAll(() => redis?.close());
  return {
    test: inRedis && !hasRedisServer ? it.skip : it,
    /** Starts a process of the observatory with this store. */
    begin: () => chat.start(redis?.environment ?? {}),
    get redis() {
      return redis;
    },
  };
}

/** Decides over HTTP, as the user who asked or as another one. */
export function decide(
  server: ChatServer,
  confirm_id: string,
  approve: boolean,
  username?: string,
): Promise<Response> {
  return server.post('/chat/confirm', { confirm_id, approve }, username);
}

/** Expects that a confirmation can no longer be decided, and has this state in Redis. */
export async function expectState(
  { server, redis }: { server: ChatServer; redis: UpstashRest | null },
  confirm_id: string,
  state: 'approved' | 'rejected' | 'expired',
): Promise<void> {
  expect((await decide(server, confirm_id, true)).status).toBe(409);
  const kept = await redis?.send(['HGET', `backup:confirmation:${confirm_id}`, 'state']);
  if (redis) expect(kept).toBe(state);
}
