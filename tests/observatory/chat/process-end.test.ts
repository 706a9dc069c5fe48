import { afterEach, beforeEach, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../../scripts/local-server.ts';
import { readMessages, scriptChat, waitFor } from '../../support/chat.ts';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { TEST_SECRET } from '../../support/deps.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { ADA, TEST_JWT_SECRET } from '../../support/observatory-client.ts';

let database: TestDatabase;
let gateway: Gateway;
let server: LocalServer;

beforeEach(async () => {
  [database, gateway] = await Promise.all([createPostgres(), startGateway()]);
  server = await startLocalServer({
    DATABASE_URL: database.url,
    PORT: '0',
    INTERNAL_SECRET: TEST_SECRET,
    JWT_SECRET: TEST_JWT_SECRET,
    AUTH_USERNAME: ADA.username,
    AUTH_PASSWORD: ADA.password,
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_API_KEYS: 'server-key-number-1',
    GATEWAY_MODEL: 'acme/chat-paid',
    LOG_LEVEL: 'error',
  });
});
afterEach(() => Promise.all([database.close(), gateway.close()]));

it.each(['waits', 'has left'])(
  'npm start stores the turn of a client that %s when it stops',
  async (who) => {
    scriptChat(gateway, { text: ['Half a thought'], instead: 'hang' });
    const login = await fetch(`${server.url}/auth/login`, {
      method: 'POST',
      body: new URLSearchParams(ADA),
    });
    const { access_token: token } = (await login.json()) as { access_token: string };
    const response = await fetch(`${server.url}/observatory/chat/stream`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ question: 'Well?' }),
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = '';
    await waitFor(async () => {
      received += (await reader?.read())?.value ?? '';
      return received.includes('"token"') || null;
    }, 'a token');
    if (who === 'has left') await reader?.cancel();
    await server.close();
    expect(await readMessages(database.db)).toMatchObject([
      { role: 'user', content: 'Well?' },
      { role: 'assistant', content: 'Half a thought', status: 'failed' },
    ]);
  },
);
