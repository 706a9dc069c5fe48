import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../../scripts/free-port.ts';
import { type Gateway, startGateway } from '../../tests/support/gateway.ts';
import { ms, printTable, quantile } from '../report.ts';
import { startServer } from '../servers.ts';
import { times } from '../share.ts';

/** Questions about the first token; the first five are not counted. */
const FIRST = times(30, 7);
const TOKENS = 50;
const TOKEN_EVERY_MS = 5;
const CONCURRENT = times(100, 2);
const WAITING = times(400);
const PASSWORD = 'the password of the benchmark';
const SECRET = 'a secret of the benchmark, 40 characters';

/**
 * `npm run bench -- chat`: measures how much later than from the gateway the first token arrives, whether many
 * concurrent streams lose or reorder events, and the memory of streams that wait for a confirmation.
 */
export async function runChatBenchmark(): Promise<void> {
  const gateway = await startGateway();
  const folder = await mkdtemp(join(tmpdir(), 'bench-chat-'));
  const port = await findFreePort(18_790);
  const server = await startServer(
    'scripts/start.ts',
    port,
    {
      DATA_DIR: folder,
      EMBEDDED_DB_PORT: '0',
      INTERNAL_SECRET: SECRET,
      JWT_SECRET: SECRET,
      AUTH_USERNAME: 'bench',
      AUTH_PASSWORD: PASSWORD,
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_API_KEYS: 'key-of-the-benchmark',
      GATEWAY_MODEL: 'acme/chat-paid',
      // Without a mail service, the chat would not ask for approval. No mail is approved here.
      RESEND_API_KEY: 'key-of-the-benchmark',
      SMTP_FROM: 'backups@example.com',
      SMTP_TO: 'a@example.com',
      TRUSTED_PROXIES: '127.0.0.1',
      USER_MAX_REQUESTS_PER_MINUTE: '1000000',
      HITL_CONFIRMATION_TIMEOUT_SECONDS: '300',
      AGENT_REQUEST_DEADLINE_SECONDS: '600',
      LOG_LEVEL: 'error',
    },
    '/health',
  );
  try {
    const login = await fetch(`${server.url}/auth/login`, {
      method: 'POST',
      body: new URLSearchParams({ username: 'bench', password: PASSWORD }),
    });
    const { access_token: token } = (await login.json()) as { access_token: string };
    const client = { url: server.url, token };
    printTable(
      'Chat',
      ['what', 'measured', 'wanted'],
      [
        ...(await measureFirstToken(gateway, client)),
        ...(await measureConcurrent(gateway, client)),
        ...(await measureWaiting(gateway, client)),
      ],
    );
  } finally {
    await server.stop();
    await gateway.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface ChatClient {
  url: string;
  token: string;
}

let asked = 0;

/** Sends a question from its own client address, so that the rate limit does not interfere. */
function ask({ url, token }: ChatClient, question: string): Promise<Response> {
  asked += 1;
  return fetch(`${url}/chat/stream`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'X-Forwarded-For': `10.0.${asked >> 8}.${asked & 255}`,
    },
    body: JSON.stringify({ question }),
  });
}

/** Emits 50 numbered tokens, 5 ms apart. */
function speak(gateway: Gateway): void {
  gateway.routes.set('/chat/completions', async (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (let n = 0; n < TOKENS; n += 1) {
      response.write(`data: {"choices":[{"index":0,"delta":{"content":"${n} "}}]}\n\n`);
      await delay(TOKEN_EVERY_MS);
    }
    response.end(
      'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    );
  });
}

/** Milliseconds until the body contains a text. Reads the rest of the body too. */
async function timeUntil(text: string, request: () => Promise<Response>): Promise<number> {
  const startedAt = performance.now();
  const response = await request();
  let [received, at] = ['', Number.NaN];
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    received += chunk;
    if (Number.isNaN(at) && received.includes(text)) at = performance.now() - startedAt;
  }
  if (Number.isNaN(at)) throw new Error(`no ${text} in ${received.slice(0, 500)}`);
  return at;
}

async function measureFirstToken(gateway: Gateway, client: ChatClient): Promise<string[][]> {
  speak(gateway);
  const direct: number[] = [];
  const through: number[] = [];
  const askGateway = () =>
    fetch(`${gateway.url}/chat/completions`, {
      method: 'POST',
      headers: { Authorization: 'Bearer x' },
      body: '{}',
    });
  for (let n = 0; n < FIRST; n += 1) {
    const own = await timeUntil('"content"', askGateway);
    const whole = await timeUntil('"token"', () => ask(client, 'How are the backups?'));
    if (n < 5) continue;
    direct.push(own);
    through.push(whole);
  }
  const above = through.map((time, n) => time - (direct[n] ?? 0));
  return [
    ['first token of the gateway alone, median', ms(quantile(direct, 0.5)), ''],
    ['first token above that, median', ms(quantile(above, 0.5)), 'at most 60 ms'],
    ['first token above that, p95', ms(quantile(above, 0.95)), 'at most 60 ms'],
  ];
}

async function measureConcurrent(gateway: Gateway, client: ChatClient): Promise<string[][]> {
  speak(gateway);
  const wanted = Array.from({ length: TOKENS }, (_, n) => `${n} `).join('');
  const startedAt = performance.now();
  const whole = await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      const text = await (await ask(client, 'How are the backups?')).text();
      const events = text
        .trim()
        .split('\n\n')
        .map((frame) => JSON.parse(frame.replace(/^data: /, '')));
      const tokens = events.filter(({ type }) => type === 'token').map(({ text }) => text);
      const isFramed = events[0]?.type === 'info' && events.at(-1)?.type === 'done';
      return isFramed && tokens.join('') === wanted && events.at(-1)?.answer === wanted;
    }),
  );
  const right = whole.filter(Boolean).length;
  return [
    [
      `${CONCURRENT} streams at once: whole and in order`,
      `${right} of ${CONCURRENT}, in ${ms(performance.now() - startedAt)}`,
      `${CONCURRENT}`,
    ],
  ];
}

async function measureWaiting(gateway: Gateway, client: ChatClient): Promise<string[][]> {
  const args = { subject: 's', content_markdown: 'c' };
  const call = { index: 0, id: 'c', type: 'function' };
  const fn = { name: 'send_report_email', arguments: JSON.stringify(args) };
  const delta = { tool_calls: [{ ...call, function: fn }] };
  const chunk = { choices: [{ index: 0, delta, finish_reason: 'tool_calls' }] };
  gateway.routes.set('/chat/completions', (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  const open: ReadableStreamDefaultReader<Uint8Array>[] = [];
  const wait = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const { body } = await ask(client, 'Mail it.');
      const reader = body?.getReader();
      if (!reader) throw new Error('the answer has no body');
      open.push(reader);
      let received = '';
      while (!received.includes('confirm_required')) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`no confirmation was requested: ${received}`);
        received += Buffer.from(value).toString();
      }
    }
    await delay(2_000);
  };
  // The first streams are not counted: their cost is compiled code and heap growth.
  await wait(WAITING);
  const before = await readResident(client.url);
  await wait(WAITING);
  const after = await readResident(client.url);
  for (const reader of open) await reader.cancel();
  const each = (after - before) / WAITING / 1_024;
  return [
    [`memory of a waiting stream, over ${WAITING}`, `${each.toFixed(0)} KiB`, 'below 200 KiB'],
  ];
}

async function readResident(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { 'X-Internal-Secret': SECRET } });
  const found = /^process_resident_memory_bytes (\S+)$/m.exec(await response.text());
  return Number(found?.[1]);
}
