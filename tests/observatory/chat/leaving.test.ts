import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type ChatServer,
  chatEnvironment,
  emptyChat,
  readMessages,
  scriptChat,
  startChatServer,
  waitFor,
} from '../../support/chat.ts';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { untilAsleep, type WatchedDatabase, watch } from '../../support/live.ts';
import { askRaw, type RawQuestion } from '../../support/raw-question.ts';

// A client whose connection ends before its answer has begun, at each stage and on both paths: the turn
// ends, and what there is of it is stored. What follows the first event is in failures.test.ts.

let database: TestDatabase;
let db: WatchedDatabase;
let gateway: Gateway;
let server: ChatServer;

beforeAll(async () => {
  database = await createPostgres();
});
afterAll(() => database.close());
beforeEach(async () => {
  await emptyChat(database.db);
  db = watch(database.db);
  gateway = await startGateway();
  server = await startChatServer({ db, environment: chatEnvironment(gateway) });
});
afterEach(async () => {
  await server.close();
  await gateway.close();
});

const PATH = '/chat/completions';
const storedTurn = () =>
  waitFor(async () => (await readMessages(database.db))[1] ?? null, 'a stored turn');

/** Goes away. Resolves when the server knows. */
async function leave({ client, response }: RawQuestion): Promise<void> {
  const known = once(response, 'close');
  client.socket.destroy();
  await known;
}

/** Holds one statement back: resolves when it is asked for, and lets it go on when it is told to. */
function hold(name: string) {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  db.before(async (statement) => {
    if (statement.name !== name) return;
    asked.resolve();
    await gate.promise;
  });
  return { asked: asked.promise, release: gate.resolve };
}

it.each(['/chat', '/chat/stream'])(
  'while the question of POST %s is stored: no model is asked',
  async (path) => {
    const storing = hold('begin_chat_turn');
    const asked = await askRaw(server, path);
    await storing.asked;
    await leave(asked);
    storing.release();
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: '', tool_calls: [] });
    expect(gateway.requestsTo(PATH)).toEqual([]);
    expect((await readMessages(database.db))[0]).toMatchObject({ content: 'Is all well?' });
  },
);

it.each(['/chat', '/chat/stream'])(
  'while POST %s looks for sources: it is stored at once, and no model is asked',
  async (path) => {
    const searching = hold('search');
    const asked = await askRaw(server, path);
    await searching.asked;
    await leave(asked);
    // The search is still held back.
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: '', tool_calls: [] });
    expect(gateway.requestsTo(PATH)).toEqual([]);
    searching.release();
  },
);

it('while the model of POST /chat is asked: the request to the gateway ends too', async () => {
  const gone = Promise.withResolvers<void>();
  scriptChat(gateway, { text: ['Half an'], instead: 'hang' });
  const say = gateway.routes.get(PATH);
  gateway.routes.set(PATH, (request, response) => {
    response.on('close', () => gone.resolve());
    say?.(request, response);
  });
  const asked = await askRaw(server, '/chat');
  await waitFor(() => gateway.requestsTo(PATH)[0] ?? null, 'a request');
  // The deadline of the turn, and the silence of the gateway.
  await untilAsleep(server.deps, 2);
  await leave(asked);
  expect(await storedTurn()).toMatchObject({ status: 'failed' });
  await gone.promise;
});

it('while a tool of POST /chat runs: the call is stored', async () => {
  scriptChat(gateway, { calls: [{ id: 'c1', name: 'list_backup_runs' }] });
  const listing = hold('runs_page');
  const asked = await askRaw(server, '/chat');
  await listing.asked;
  await leave(asked);
  expect(await storedTurn()).toMatchObject({
    status: 'failed',
    tool_calls: [{ tool_call_id: 'c1', success: false }],
  });
  listing.release();
});
