import { ADDRESSES } from '../../support/mail.ts';
import { ADA } from '../../support/observatory-client.ts';
import { sql } from '../../support/records.ts';
import {
  describeAnswer,
  type Ground,
  pause,
  request,
  type Surface,
  untilThere,
  WORKS,
  withoutIds,
} from './surface.ts';

/** Longer than the server needs to poll a confirmation several times. */
const SEVERAL_LOOKS_MS = 1_000;

function call(
  { url, tokens, address }: Ground,
  method: string,
  path: string,
  json?: unknown,
  user: 'ada' | 'grace' = 'ada',
): Promise<Response> {
  return fetch(`${url}/observatory${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${tokens[user]}`,
      'Content-Type': 'application/json',
      ...address,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
}

const post = (path: string, json: unknown, user?: 'ada' | 'grace') => async (ground: Ground) =>
  describeAnswer(await call(ground, 'POST', path, json, user));

/** POST /auth/login with the right password. */
export const login: Surface = request(async ({ url, address: headers }) => {
  const body = new URLSearchParams(ADA);
  return describeAnswer(await fetch(`${url}/auth/login`, { method: 'POST', body, headers }));
});

/** Every path below /sessions, reading reports, and the status of embeddings. */
export const sessions: Surface = request(async (ground) =>
  describeAnswer(await call(ground, 'GET', '/sessions')),
);

/** GET /observatory/ready. */
export const observatoryReady: Surface = request(async ({ url, address: headers }) => {
  const response = await fetch(`${url}/observatory/ready`, { headers });
  return describeAnswer(response);
});

export const search: Surface = request(post('/search', { query: 'clone' }));

/** A search whose best results are ranked by a model of the gateway. */
export const rerank: Surface = request(
  post('/search', { query: 'clone', rerank_model_id: 'acme/rerank-free' }),
);

export const models: Surface = request(async (ground) =>
  describeAnswer(
    await fetch(`${ground.url}/api/embedding-models`, {
      headers: { Authorization: `Bearer ${ground.tokens.ada}`, ...ground.address },
    }),
  ),
);

/** One call of process-batch on a generation that has jobs. */
export const processBatch: Surface = async (ground, phases) => {
  const started = await call(ground, 'POST', '/embeddings/switch-model', {
    model_id: ground.embeddingModel,
  });
  const { data } = (await started.json()) as { data: { generation_id: number } };
  const batch = { generation_id: data.generation_id, batch_size: 500, max_batches: 50 };
  const jobs = async (status: string) => {
    const text = `SELECT count(*)::int AS jobs FROM embedding_jobs
      WHERE generation_id = $1::int AND status = $2`;
    const [row] = await sql<{ jobs: number }>(ground.db, text, [data.generation_id, status]);
    return row?.jobs ?? 0;
  };
  await phases.broken();
  const seen = await describeAnswer(await call(ground, 'POST', '/embeddings/process-batch', batch));
  await phases.repaired();
  const stored =
    (await jobs('processing')) > 0 ? 'jobs wait until their lease of 5 minutes ends' : '';
  const lost = await jobs('failed');
  if (lost > 0) throw new Error(`${lost} jobs failed for good`);
  if (stored === '') {
    const after = await describeAnswer(
      await call(ground, 'POST', '/embeddings/process-batch', batch),
    );
    if (after !== WORKS || (await jobs('pending')) > 0) throw new Error(`process-batch: ${after}`);
  } else {
    await sql(
      ground.db,
      `UPDATE embedding_jobs SET leased_until = '-infinity' WHERE status = 'processing'`,
    );
    await call(ground, 'POST', '/embeddings/process-batch', batch);
  }
  return { seen, stored };
};

/** POST /me/gateway/exchange by a user without a key. */
export const connectKey: Surface = async (ground, phases) => {
  const exchange = post(
    '/me/gateway/exchange',
    { code: 'code-of-the-page', code_verifier: 'v'.repeat(64) },
    'grace',
  );
  const asked = request(exchange, async () => ((await connections(ground)) > 0 ? 'the key' : ''));
  await sql(ground.db, 'DELETE FROM gateway_connections');
  const outcome = await asked(ground, phases);
  await sql(ground.db, 'DELETE FROM gateway_connections');
  return outcome;
};

async function connections({ db }: Ground): Promise<number> {
  const [row] = await sql<{ n: number }>(db, 'SELECT count(*)::int AS n FROM gateway_connections');
  return row?.n ?? 0;
}

/** POST /reports with a recipient. */
export const report: Surface = request(
  async (ground, attempt) =>
    describeAnswer(
      await call(ground, 'POST', '/reports', {
        report_type: 'latest_backup',
        subject: `${ground.label} ${attempt}`,
        recipients: [ADDRESSES[0]],
      }),
    ),
  async ({ db, mail, label }, attempt) => {
    const subject = `${label} ${attempt}`;
    const text = 'SELECT status FROM reports WHERE subject = $1';
    const [row] = await sql<{ status: string }>(db, text, [subject]);
    const mails = mail.delivered.filter((it) => it.subject === subject).length;
    if (mails > 1) throw new Error(`${mails} mails for one report`);
    return [
      row ? `the report, ${row.status}` : 'nothing',
      ...(mails === 1 ? ['mailed'] : ['not mailed']),
    ].join('; ');
  },
);

/** An event stream of the chat, read to its end. */
interface ChatAnswer {
  status: string | null;
  events: { type: string; [field: string]: unknown }[];
  ended: Promise<void>;
}

async function ask(ground: Ground, question: string): Promise<ChatAnswer> {
  const response = await call(ground, 'POST', '/chat/stream', { question });
  const answer: ChatAnswer = { status: null, events: [], ended: Promise.resolve() };
  if (!response.ok) return { ...answer, status: await describeAnswer(response) };
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  answer.ended = (async () => {
    let rest = '';
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: '', done: true };
      if (done) return;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop() ?? '';
      // Comments keep the connection alive.
      const events = frames.filter((frame) => frame.startsWith('data: '));
      for (const frame of events) answer.events.push(JSON.parse(frame.slice('data: '.length)));
    }
  })();
  return answer;
}

/** `works`, or the code of the error with which the stream ended. Throws for a stream that is not complete. */
async function outcomeOf({ status, events, ended }: ChatAnswer): Promise<string> {
  if (status !== null) return status;
  await ended;
  const types = events.map(({ type }) => type);
  if (types[0] !== 'info' || types.at(-1) !== 'done') throw new Error(`the stream was ${types}`);
  const error = events.find(({ type }) => type === 'error');
  if (error) return `the stream ends with ${error.code}`;
  const failed = events.find(({ type, success }) => type === 'tool_end' && success === false);
  return failed
    ? `${WORKS}, but the tool does not run: ${withoutIds(String(failed.error))}`
    : WORKS;
}

/** What is stored of the turn with a question. Throws if there is an answer without its question. */
async function storedTurn({ db }: Ground, question: string): Promise<string> {
  const text = `SELECT status FROM chat_messages WHERE request_id IN
    (SELECT request_id FROM chat_messages WHERE content = $1 AND role = 'user')
    ORDER BY id`;
  const rows = await sql<{ status: string | null }>(db, text, [question]);
  const orphans = await sql(
    db,
    `SELECT FROM chat_messages AS answer WHERE role = 'assistant' AND NOT EXISTS (
       SELECT FROM chat_messages AS asked
       WHERE asked.role = 'user' AND asked.request_id = answer.request_id)`,
  );
  if (orphans.length > 0) throw new Error('there is an answer without its question');
  if (rows.length === 0) return 'nothing';
  return rows.length === 1 ? 'the question alone' : `the turn, ${rows[1]?.status}`;
}

/** POST /chat/stream, asked while the part is broken. */
export const chat: Surface = request(
  async (ground, attempt) => outcomeOf(await ask(ground, `Well, ${ground.label} ${attempt}?`)),
  (ground, attempt) => storedTurn(ground, `Well, ${ground.label} ${attempt}?`),
);

/** A turn whose answer is being streamed when the part breaks. */
export const runningChat: Surface = async (ground, phases) => {
  const question = `Wait ${ground.label}`;
  const answer = await ask(ground, question);
  await untilThere(
    () => answer.events.find(({ type }) => type === 'token') ?? null,
    'a token',
    20_000,
  );
  await phases.broken();
  ground.chat.release(question);
  const seen = await outcomeOf(answer);
  await phases.repaired();
  return { seen, stored: await storedTurn(ground, question) };
};

/** A tool that a person approves while the part is broken, and once more when it is back. */
export const confirmation: Surface = async (ground, phases) => {
  const question = `Mail ${ground.label} approved`;
  const answer = await ask(ground, question);
  const asked = await untilThere(
    () => answer.events.find(({ type }) => type === 'confirm_required') ?? null,
    'the question for a person',
    20_000,
  );
  const decide = post('/chat/confirm', { confirm_id: asked.confirm_id, approve: true });
  await phases.broken();
  const seen = await decide(ground);
  await pause(SEVERAL_LOOKS_MS);
  await phases.repaired();
  let mayBeDecided = false;
  const decideOnceBack = async () => {
    const outcome = await decide(ground);
    if (outcome.startsWith('503')) {
      // On a busy machine, a decision may take longer than the wait for its answer.
      mayBeDecided = true;
      return null;
    }
    return mayBeDecided && outcome === '409 CONFLICT' ? WORKS : outcome;
  };
  const again =
    seen === WORKS ? '' : `approved again: ${await untilThere(decideOnceBack, 'a decision')}`;
  await outcomeOf(answer);
  const mails = ground.mail.delivered.filter(({ subject }) => subject === question).length;
  if (mails > 1) throw new Error(`${mails} mails for one approval`);
  return {
    seen,
    stored: [again, mails === 1 ? 'mailed' : 'not mailed'].filter(Boolean).join('; '),
  };
};

/** A tool that needs approval and is called while the part is broken. A person who is asked approves. */
export const confirmable: Surface = request(async (ground, attempt) => {
  const answer = await ask(ground, `Mail ${ground.label} ${attempt}`);
  const approving = approveWhenAsked(ground, answer);
  const outcome = await outcomeOf(answer);
  await approving;
  return outcome;
});

async function approveWhenAsked(ground: Ground, { events, ended }: ChatAnswer): Promise<void> {
  const isOver = ended.then(() => 'over' as const);
  for (;;) {
    const asked = events.find(({ type }) => type === 'confirm_required');
    if (asked) {
      await post('/chat/confirm', { confirm_id: asked.confirm_id, approve: true })(ground);
      return;
    }
    if ((await Promise.race([isOver, pause(50)])) === 'over') return;
  }
}
