import { once } from 'node:events';
import { expect, it } from 'vitest';
import { readMessages, scriptChat, waitFor } from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';
import { untilAsleep } from '../../support/live.ts';
import { askRaw, type RawQuestion } from '../../support/raw-question.ts';

// A client that disconnects before its answer has begun, at each stage and on both paths: the turn ends, and
// what exists of it is stored. For later disconnects see failures.test.ts.

const chat = setUpChat();

const PATH = '/chat/completions';
const storedTurn = () =>
  waitFor(async () => (await readMessages(chat.database.db))[1] ?? null, 'a stored turn');

/** Disconnects. Resolves when the server has noticed. */
async function leave({ client, response }: RawQuestion): Promise<void> {
  const known = once(response, 'close');
  client.socket.destroy();
  await known;
}

/** Holds one statement back. `asked` resolves when it starts; `release` lets it continue. */
function hold(name: string) {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  chat.db.before(async (statement) => {
    if (statement.name !== name) return;
    asked.resolve();
    await gate.promise;
  });
  return { asked: asked.promise, release: gate.resolve };
}

it.each(['/chat', '/chat/stream'])(
  'POST %s asks no model if the client leaves while the question is being stored',
  async (path) => {
    const storing = hold('begin_chat_turn');
    const asked = await askRaw(chat.server, path);
    await storing.asked;
    await leave(asked);
    storing.release();
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: '', tool_calls: [] });
    expect(chat.gateway.requestsTo(PATH)).toEqual([]);
    expect((await readMessages(chat.database.db))[0]).toMatchObject({ content: 'Is all well?' });
  },
);

it.each(['/chat', '/chat/stream'])(
  'POST %s stores the turn at once and asks no model if the client leaves during the search for sources',
  async (path) => {
    const searching = hold('search');
    const asked = await askRaw(chat.server, path);
    await searching.asked;
    await leave(asked);
    // The search is still held back.
    expect(await storedTurn()).toMatchObject({ status: 'failed', content: '', tool_calls: [] });
    expect(chat.gateway.requestsTo(PATH)).toEqual([]);
    searching.release();
  },
);

it('POST /chat also ends the request to the gateway if the client leaves while the model answers', async () => {
  const gone = Promise.withResolvers<void>();
  scriptChat(chat.gateway, { text: ['Half an'], instead: 'hang' });
  const say = chat.gateway.routes.get(PATH);
  chat.gateway.routes.set(PATH, (request, response) => {
    response.on('close', () => gone.resolve());
    say?.(request, response);
  });
  const asked = await askRaw(chat.server, '/chat');
  await waitFor(() => chat.gateway.requestsTo(PATH)[0] ?? null, 'a request');
  // The turn's deadline and the gateway's time-out.
  await untilAsleep(chat.server.deps, 2);
  await leave(asked);
  expect(await storedTurn()).toMatchObject({ status: 'failed' });
  await gone.promise;
});

it('POST /chat stores the tool call that was running when the client left', async () => {
  scriptChat(chat.gateway, { calls: [{ id: 'c1', name: 'list_backup_runs' }] });
  const listing = hold('runs_page');
  const asked = await askRaw(chat.server, '/chat');
  await listing.asked;
  await leave(asked);
  expect(await storedTurn()).toMatchObject({
    status: 'failed',
    tool_calls: [{ tool_call_id: 'c1', success: false }],
  });
  listing.release();
});
