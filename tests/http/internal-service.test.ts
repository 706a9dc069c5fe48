import { afterEach, describe, expect, it } from 'vitest';
import { callInternalService } from '../../lib/http/internal-service.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

let server: ScriptedServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const MIB = 2 ** 20;

/** Calls a server with a scripted response. */
async function call(
  answer: ScriptedAnswer,
  options: { timeoutMs?: number; signal?: AbortSignal } = {},
) {
  await server?.close();
  server = await startScriptedServer(() => answer);
  const { signal = new AbortController().signal, ...rest } = options;
  const service = { name: 'the other', url: `${server.url}/`, secret: undefined, fetch, ...rest };
  return callInternalService(service, { path: '/path?a=b', signal });
}

describe('callInternalService', () => {
  it('returns status and text of a 2xx response', async () => {
    expect(await call({ status: 201, body: 'ü' })).toEqual({ status: 201, text: 'ü' });
    expect(server?.received).toMatchObject([{ method: 'GET', path: '/path?a=b' }]);
  });

  it('reads up to 32 MiB, and gives up beyond', async () => {
    expect((await call({ body: 'x'.repeat(32 * MIB) })).text).toHaveLength(32 * MIB);
    await expect(call({ body: 'x'.repeat(32 * MIB + 1) })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'the other did not answer',
      cause: new Error(`the response is larger than ${32 * MIB} bytes`),
    });
  });

  it('rejects a response that is late or incomplete', async () => {
    const late = { message: 'the other did not answer within 0.05 seconds' };
    await expect(call(() => undefined, { timeoutMs: 50 })).rejects.toMatchObject(late);
    const begun: ScriptedAnswer = (response) => response.writeHead(200).write('{');
    await expect(call(begun, { timeoutMs: 50 })).rejects.toMatchObject(late);
  });

  it("rejects with the caller's abort reason", async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const answer = call(() => controller.abort(reason), { signal: controller.signal });
    await expect(answer).rejects.toBe(reason);
  });

  it.each([
    [404, 'NOT_FOUND'],
    [400, 'SERVICE_UNAVAILABLE'],
    [500, 'SERVICE_UNAVAILABLE'],
  ])('distinguishes 404 (%i) from other errors: %s', async (status, code) => {
    await expect(call({ status, body: { error: 'why' } })).rejects.toMatchObject({
      code,
      message: `the other answered ${status}: why`,
    });
  });
});
