import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolDescription } from '../../../lib/tools/describe-tool.ts';
import { asMessage, connectHttp, withToken } from '../../support/mcp.ts';
import { seed, times } from '../size.ts';
import {
  type Campaign,
  describeTally,
  runCampaign,
  successesOf,
  type Tally,
  tryUntilSuccess,
} from './campaign.ts';
import { valuesOf } from './from-schema.ts';
import { hostileValue } from './hostile.ts';
import { known } from './known.ts';
import type { FuzzRequest } from './requests.ts';
import { createFuzzClient, type FuzzAnswer, type FuzzClient } from './send.ts';
import { startFuzzWorld } from './world.ts';

const CALLS = times(500, 250_000);
/** Each of these runs git on a bundle, which takes a tenth of a second. */
const expensive = new Set([
  'verify_archive_integrity',
  'inspect_archive_contents',
  'extract_backup_file',
]);
/** JSON-RPC codes for mistakes of the client: invalid request, unknown method, invalid parameters. */
const CLIENT_FAULTS: readonly number[] = [-32600, -32601, -32602];

let world: Awaited<ReturnType<typeof startFuzzWorld>>;
let client: FuzzClient;
let tools: ToolDescription[];
let tally: Tally;

beforeAll(async () => {
  world = await startFuzzWorld('postgres');
  client = createFuzzClient(world.server.url);
  const connection = await connectHttp(`${world.server.url}/mcp`);
  tools = (await connection.listTools()).tools as unknown as ToolDescription[];
  await connection.close();
});

afterAll(async () => {
  client?.close();
  expect(await world?.close()).toBe(0);
});

describe('generated arguments', () => {
  it(`are answered by every tool as it promises, in ${CALLS} calls`, async () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const outputs = new Map(
      tools.map(({ name, outputSchema }) => [name, ajv.compile(outputSchema)] as const),
    );
    const arbitrary = fc.oneof(
      ...tools.map((tool) => ({
        weight: expensive.has(tool.name) ? 3 : 10,
        arbitrary: callsOf(tool),
      })),
    );
    const campaign: Omit<Campaign, 'arbitrary' | 'requests'> = {
      seed,
      client,
      server: world.server,
      place: (request) => request,
      check: (request, answer) => checkOutcome(outputs, request, answer),
      forget: world.forget,
    };
    tally = await runCampaign({ ...campaign, arbitrary, requests: CALLS });
    for (const tool of tools) {
      await tryUntilSuccess({ ...campaign, arbitrary: callsOf(tool) }, tally, tool.name);
    }
    process.stdout.write(`${describeTally(tally)}\n`);
    expect(tally.requests).toBeGreaterThanOrEqual(CALLS);
    // What a busy machine excuses must be rare.
    expect(tally.slow).toBeLessThan(CALLS / 200);
    expect(tally.unavailable).toBeLessThan(5);
  });

  it('reach every tool: each one succeeded for some of them', () => {
    const seldom = tools
      .map(({ name }) => [name, successesOf(tally, name)] as const)
      .filter(([, successes]) => successes < CALLS / 1_000);
    expect(seldom).toEqual([]);
  });

  it('leave no failures in the log', () => {
    expect(world.server.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('leave nothing in memory', () => {
    const [start, middle, end] = tally.heap;
    expect(Math.max(middle, end) - start).toBeLessThan(16 * 2 ** 20);
    // Those of open connections, and a few more; one for each turn of the chat would be hundreds.
    expect(tally.held).toBeLessThan(150);
  });
});

/** A file is read by bytes or by lines, and most ranges are past its end, so all four are seldom given. */
const ranges = ['offset', 'length', 'start_line', 'end_line'];
const omitted = fc.oneof(
  { weight: 4, arbitrary: fc.constant(ranges) },
  { weight: 3, arbitrary: fc.constantFrom(ranges.slice(0, 2), ranges.slice(2)) },
  { weight: 1, arbitrary: fc.constant<string[]>([]) },
);

function without(args: unknown, names: readonly string[]): unknown {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args;
  return Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)));
}

/** Calls of a tool, with arguments that match its schema and others. */
function callsOf({ name, inputSchema }: ToolDescription): fc.Arbitrary<FuzzRequest> {
  const sources = { document: { paths: {}, components: {} }, known, hostileIn: 8 };
  const given = fc.oneof(
    { weight: 19, arbitrary: valuesOf(inputSchema, sources) },
    { weight: 1, arbitrary: hostileValue },
  );
  return fc.tuple(given, omitted).map(([args, names]) => ({
    operation: name,
    method: 'POST',
    target: '/mcp',
    headers: { ...withToken, ...asMessage },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: without(args, names) },
    }),
    encoding: 'utf8',
  }));
}

/** 200 for an answer that matches the tool's schema, 400 for a refusal in words. Throws for anything else. */
function checkOutcome(
  outputs: ReadonlyMap<string, ValidateFunction>,
  { operation }: FuzzRequest,
  { status, headers, text }: FuzzAnswer,
): number {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`);
  if (headers['x-request-id'] === undefined) throw new Error('answered without a request id');
  const data = /^data: (.*)$/m.exec(text)?.[1];
  const { result, error } = JSON.parse(data ?? '{}');
  if (error && CLIENT_FAULTS.includes(error.code)) return 400;
  if (!result) throw new Error(`answered ${text.slice(0, 2_000)}`);
  if (result.isError) {
    const said = String(result.content?.[0]?.text ?? '');
    if (said === '' || said.includes('internal error')) throw new Error(`failed: ${said}`);
    return 400;
  }
  const validate = outputs.get(operation ?? '');
  if (!validate?.(result.structuredContent)) {
    const faults = JSON.stringify(validate?.errors);
    throw new Error(
      `answered something that does not match the schema: ${faults} in ${text.slice(0, 2_000)}`,
    );
  }
  return 200;
}
