import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatEvent } from '../../../lib/observatory/base/chat-events.ts';
import {
  askStream,
  type ChatServer,
  chatEnvironment,
  emptyChat,
  readMessages,
  type ScriptedStep,
  scriptChat,
  startChatServer,
} from '../../support/chat.ts';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';

// Whatever a model says, the events come in the documented order and the stored turn matches them.

let database: TestDatabase;
let gateway: Gateway;
let server: ChatServer;

beforeAll(async () => {
  [database, gateway] = await Promise.all([createPostgres(), startGateway()]);
  server = await startChatServer({ db: database.db, environment: chatEnvironment(gateway) });
});
afterAll(async () => {
  await server.close();
  await Promise.all([database.close(), gateway.close()]);
});

const text = fc.array(fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }), {
  maxLength: 4,
});
const call = fc.record({
  id: fc.constantFrom(undefined, 'call_1', 'call_2', ' '),
  name: fc.constantFrom('list_backup_runs', 'get_backup_run_details', 'send_report_email', 'x'),
  args: fc.oneof(
    fc.constantFrom('', '{"run_id":', 'null', '[1]', '{"run_id": 7}'),
    fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
  ),
});
/** One scripted step of the model, without calls that would wait for a person. */
const step: fc.Arbitrary<ScriptedStep> = fc
  .record({
    text,
    calls: fc.option(fc.array(call, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    instead: fc.option(fc.constantFrom('close', 'reset'), { nil: undefined, freq: 6 }),
    error: fc.option(fc.constant({ code: 500, message: 'inner' }), { nil: undefined, freq: 6 }),
  })
  .map(({ calls, instead, error, ...said }) => ({
    ...said,
    ...(calls ? { calls: calls.map(({ id, ...rest }) => (id ? { id, ...rest } : rest)) } : {}),
    ...(instead ? { instead } : {}),
    ...(error ? { error } : {}),
  }));

const letters: Record<ChatEvent['type'], string> = {
  info: 'i',
  agent_reasoning: 'r',
  reasoning: 'q',
  token: 't',
  confirm_required: 'c',
  tool_start: 's',
  tool_end: 'e',
  error: 'E',
  done: 'd',
};

it('the events of a turn are in order, and the stored turn matches them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
      await emptyChat(database.db);
      // One turn a second, because of the rate limit.
      server.deps.clock.advance(1_000);
      scriptChat(gateway, ...steps);
      const { ended, response } = await askStream(server, { question: 'Is all well?' });
      const events = await ended;
      const written = events.map(({ type }) => letters[type]).join('');
      expect(written).toMatch(/^i(rt*(s?e)*)*E?d$/);

      const answer = events.flatMap((event) => (event.type === 'token' ? event.text : [])).join('');
      const failure = events.find((event) => event.type === 'error');
      const done = events.at(-1);
      const ending = failure ? `${answer && '\n\n'}${failure.message}` : '';
      const request_id = response.headers.get('x-request-id');
      const finish_reason = failure ? null : 'stop';
      expect(done).toEqual({
        type: 'done',
        answer: `${answer}${ending}`,
        request_id,
        finish_reason,
      });

      const starts = events.filter((event) => event.type === 'tool_start');
      const ends = events.filter((event) => event.type === 'tool_end');
      for (const { tool_call_id, name } of starts) {
        expect(ends).toContainEqual(expect.objectContaining({ tool_call_id, name }));
      }
      const told = ends.map(({ type: _, ...end }) => expect.objectContaining(end));
      expect(await readMessages(database.db)).toEqual([
        expect.objectContaining({ role: 'user', content: 'Is all well?', request_id }),
        {
          role: 'assistant',
          content: answer.toWellFormed(),
          status: failure ? 'failed' : 'completed',
          tool_calls: told,
          request_id,
        },
      ]);
    }),
    { numRuns: 20 },
  );
});
