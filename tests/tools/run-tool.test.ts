import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../lib/platform/errors.ts';
import { createLog } from '../../lib/platform/log.ts';
import { runTool } from '../../lib/tools/index.ts';
import { readTool, type ToolCall } from '../../lib/tools/tool.ts';
import type { LogRecord } from '../support/deps.ts';
import { createTestHandles } from '../support/tools.ts';

const handles = createTestHandles({});

/** Runs a tool made of one function, with its log records. */
async function run(
  handler: (input: { n: number }, call: ToolCall) => unknown,
  given: unknown,
  signal = new AbortController().signal,
) {
  const tool = readTool({
    name: 'a_tool',
    title: 'A tool',
    description: 'Does what a test wants.',
    input: z.strictObject({ n: z.number() }),
    output: z.object({ twice: z.number() }),
    handler: (input, _handles, call) => handler(input, call) as { twice: number },
  });
  const logged: LogRecord[] = [];
  const log = createLog('debug', handles.clock, (line) => logged.push(JSON.parse(line)));
  const outcome = await runTool(tool, given, handles, { signal, log });
  return { outcome, logged };
}

describe('runTool', () => {
  it('answers what the tool answers, without what its schema does not know', async () => {
    const { outcome } = await run(({ n }) => ({ twice: 2 * n, secret: 1 }), { n: 2 });
    expect(outcome).toEqual({ ok: true, output: { twice: 4 } });
  });

  it.each([
    [{}, 'n: '],
    [undefined, 'n: '],
    [{ n: 'x' }, 'n: '],
    [{ n: 1, more: 2 }, 'Unrecognized key: "more"'],
    [[], 'expected object'],
    [{ n: 1, ['k'.repeat(10_000)]: 1 }, 'Unrecognized key'],
  ])('refuses arguments that do not fit, in a short text', async (given, fault) => {
    const { outcome } = await run(() => ({ twice: 0 }), given);
    if (outcome.ok) throw new Error('it was taken');
    expect(outcome.message).toMatch(/^invalid arguments: /);
    expect(outcome.message).toContain(fault);
    expect(outcome.message.length).toBeLessThan(600);
  });

  it('answers the message of an AppError and logs its cause', async () => {
    const { outcome, logged } = await run(
      () => {
        throw new AppError('SERVICE_UNAVAILABLE', 'not now', { cause: new Error('why') });
      },
      { n: 1 },
    );
    expect(outcome).toEqual({ ok: false, message: 'not now' });
    expect(JSON.stringify(logged)).toContain('why');
  });

  it('answers a fixed text for an unknown error, and logs it', async () => {
    const { outcome, logged } = await run(() => Promise.reject(new Error('password=hunter2')), {
      n: 1,
    });
    expect(outcome).toEqual({
      ok: false,
      message: 'a_tool failed with an internal error; the log has more',
    });
    expect(logged).toContainEqual(
      expect.objectContaining({ level: 'error', tool: 'a_tool', message: 'a tool failed' }),
    );
  });

  it('fails when the answer does not fit its own schema', async () => {
    const { outcome } = await run(() => ({ twice: 'four' }), { n: 2 });
    expect(outcome).toMatchObject({ ok: false });
  });

  it('says that a call was canceled, before it began and while it ran', async () => {
    const canceled = { ok: false, message: 'a_tool was canceled' };
    expect((await run(() => ({ twice: 1 }), { n: 1 }, AbortSignal.abort())).outcome).toEqual(
      canceled,
    );
    const controller = new AbortController();
    const { outcome } = await run(
      (_input, { signal }) => {
        controller.abort();
        signal.throwIfAborted();
      },
      { n: 1 },
      controller.signal,
    );
    expect(outcome).toEqual(canceled);
  });

  it('writes one record with name, duration and outcome, and no argument', async () => {
    const { logged } = await run(
      ({ n }) => {
        handles.clock.advance(250);
        return { twice: 2 * n };
      },
      { n: 424_242 },
    );
    expect(logged).toEqual([
      expect.objectContaining({
        level: 'info',
        message: 'tool call',
        tool: 'a_tool',
        duration_ms: 250,
        outcome: 'ok',
      }),
    ]);
    expect(JSON.stringify(logged)).not.toContain('424242');
    const failed = await run(() => Promise.reject(new AppError('NOT_FOUND', 'no')), { n: 424_242 });
    expect(failed.logged).toEqual([expect.objectContaining({ outcome: 'error' })]);
    expect(JSON.stringify(failed.logged)).not.toContain('424242');
  });
});
