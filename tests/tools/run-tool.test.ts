import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../lib/errors.ts';
import { createLog } from '../../lib/log/log.ts';
import { runTool } from '../../lib/tools/run-tool.ts';
import { readTool, type ToolCall } from '../../lib/tools/tool.ts';
import type { LogRecord } from '../support/deps.ts';
import { createTestToolDeps } from '../support/tools.ts';

const deps = createTestToolDeps({});

/** Runs a tool made of one function, with its log records. */
async function run(
  handler: (input: { n: number }, call: ToolCall) => unknown,
  given: unknown,
  signal = new AbortController().signal,
  caller?: string,
) {
  const tool = readTool({
    name: 'a_tool',
    title: 'A tool',
    description: 'Does what a test wants.',
    input: z.strictObject({ n: z.number() }),
    output: z.object({ twice: z.number() }),
    handler: (input, _deps, call) => handler(input, call) as { twice: number },
  });
  const logged: LogRecord[] = [];
  const log = createLog('debug', deps.clock, (line) => logged.push(JSON.parse(line)));
  const outcome = await runTool(tool, given, deps, { signal, caller, log });
  return { outcome, logged };
}

describe('runTool', () => {
  it("returns the tool's answer without unknown fields", async () => {
    const { outcome } = await run(({ n }) => ({ twice: 2 * n, secret: 1 }), { n: 2 });
    expect(outcome).toEqual({ ok: true, output: { twice: 4 } });
  });

  it.each([
    [{}, 'n: is required'],
    [undefined, 'n: is required'],
    [{ n: 'x' }, 'n: must be a number'],
    [{ n: 1, more: 2 }, 'unknown: "more"'],
    [[], 'must be an object'],
    [{ n: 1, ['k'.repeat(10_000)]: 1 }, 'unknown: "kkk'],
  ])('rejects invalid arguments with a short message', async (given, fault) => {
    const { outcome } = await run(() => ({ twice: 0 }), given);
    if (outcome.ok) throw new Error('it was taken');
    expect(outcome.message).toMatch(/^invalid arguments: /);
    expect(outcome.message).toContain(fault);
    expect(outcome.message.length).toBeLessThan(600);
  });

  it('passes the caller to the tool', async () => {
    const told: unknown[] = [];
    const handler = ({ n }: { n: number }, { caller }: ToolCall) => {
      told.push(caller);
      return { twice: 2 * n };
    };
    await run(handler, { n: 2 });
    await run(handler, { n: 2 }, undefined, 'ada');
    expect(told).toEqual([undefined, 'ada']);
  });

  it('returns the message of an AppError and logs its cause', async () => {
    const { outcome, logged } = await run(
      () => {
        throw new AppError('SERVICE_UNAVAILABLE', 'not now', { cause: new Error('why') });
      },
      { n: 1 },
    );
    expect(outcome).toEqual({ ok: false, message: 'not now' });
    expect(JSON.stringify(logged)).toContain('why');
  });

  it('returns a fixed text for an unknown error, and logs it', async () => {
    const { outcome, logged } = await run(() => Promise.reject(new Error('password=hunter2')), {
      n: 1,
    });
    expect(outcome).toEqual({
      ok: false,
      message: 'a_tool failed with an internal error; see the log',
    });
    expect(logged).toContainEqual(
      expect.objectContaining({ level: 'error', tool: 'a_tool', message: 'a tool failed' }),
    );
  });

  it('fails if the answer does not match its own schema', async () => {
    const { outcome } = await run(() => ({ twice: 'four' }), { n: 2 });
    expect(outcome).toMatchObject({ ok: false });
  });

  it('reports that a call was canceled, before it started or while it ran', async () => {
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

  it('logs one record with name, duration and outcome, but no arguments', async () => {
    const { logged } = await run(
      ({ n }) => {
        deps.clock.advance(250);
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

describe('a null argument', () => {
  const take = async (given: unknown) => {
    const tool = readTool({
      name: 'a_tool',
      title: 'A tool',
      description: 'Answers with what it was given.',
      input: z.strictObject({
        needed: z.string(),
        limit: z.int().default(5),
        level: z.string().optional(),
        page: z.preprocess((value) => value, z.int()).optional(),
      }),
      output: z.object({ given: z.unknown() }),
      handler: (given) => ({ given }),
    });
    return runTool(tool, given, deps, {
      signal: new AbortController().signal,
      log: createLog('error', deps.clock, () => undefined),
    });
  };

  it('is treated as omitted if it is optional', async () => {
    expect(await take({ needed: 'a', limit: null, level: null, page: null })).toEqual({
      ok: true,
      output: { given: { needed: 'a', limit: 5 } },
    });
  });

  it.each([
    [{ needed: null }, 'needed: '],
    [{ needed: 'a', other: null }, 'other'],
    [{ needed: 'a', constructor: null }, 'constructor'],
    [null, 'needed: '],
    [[null], 'must be an object'],
  ])('is rejected if it is required or unknown: %j', async (given, message) => {
    expect(await take(given)).toMatchObject({
      ok: false,
      message: expect.stringContaining(message),
    });
  });
});
