import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleFunction } from '../../scripts/build/bundle.ts';
import { weigh } from '../../scripts/build/report.ts';
import { ms, printTable, quantile } from '../report.ts';
import { times } from '../share.ts';

const RUNS = times(20);
const SECRET = 'a-secret-of-the-benchmark-0123456789abcdef';

/** The configuration of the functions, without Redis, so that nothing uses the network. */
const environment = {
  DATABASE_URL: 'postgres://user:password@ep-example.eu-central-1.aws.neon.tech/main',
  INTERNAL_SECRET: SECRET,
  CRON_SECRET: SECRET,
  JWT_SECRET: SECRET,
  MCP_AUTH_TOKEN: SECRET,
  CREDENTIALS_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  BACKEND_URL: 'https://backup.example.com',
  LOG_LEVEL: 'error',
};

interface Case {
  name: string;
  entry: string;
  /** The path to request, which needs neither database nor Redis. */
  path: string;
  init?: { method: string; headers: Record<string, string>; body: string };
  status: number;
  /** The baseline function of the same form, and how many milliseconds longer this one may take. */
  beside?: { bare: string; allowed: number };
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'benchmark', version: '1' },
  },
};

const cases: Case[] = [
  { name: 'bare', entry: 'bench/coldstart/bare.ts', path: '/health', status: 200 },
  { name: 'bare server', entry: 'bench/coldstart/bare-server.ts', path: '/health', status: 200 },
  {
    ...{ name: 'service API', entry: 'api/backups.ts', path: '/health', status: 200 },
    beside: { bare: 'bare', allowed: 70 },
  },
  {
    ...{ name: 'live', entry: 'api/live.ts', path: '/ws/live', status: 401 },
    beside: { bare: 'bare server', allowed: 70 },
  },
  {
    ...{ name: 'observatory', entry: 'api/observatory.ts', path: '/sessions', status: 401 },
    beside: { bare: 'bare', allowed: 110 },
  },
  {
    name: 'MCP',
    entry: 'api/mcp.ts',
    path: '/mcp',
    init: {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${SECRET}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(initialize),
    },
    status: 200,
    beside: { bare: 'bare', allowed: 120 },
  },
];

/**
 * `npm run bench -- coldstart`: fresh processes import each built function and serve a first request, compared with a
 * bare function that is bundled in the same way; once without any cache, and once with compiled code cached in files,
 * as the platform does in production. The functions alternate, so that disturbances affect all of them.
 */
export async function runColdStartBenchmark(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-coldstart-'));
  try {
    const built = await Promise.all(cases.map((each) => build(each, folder)));
    for (const cache of [null, join(folder, 'compiled')]) {
      const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
      for (const { each, file } of built) await measure(each, file, cache);
      for (let run = 0; run < RUNS; run++) {
        for (const { each, file } of built) {
          times.get(each.name)?.push(await measure(each, file, cache));
        }
      }
      printTimes(cache === null ? 'nothing kept' : 'compiled code kept', times, built);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

function printTimes(
  what: string,
  times: Map<string, number[]>,
  built: Awaited<ReturnType<typeof build>>[],
): void {
  const median = (name: string) => quantile(times.get(name) ?? [], 0.5);
  printTable(
    `First answer of a fresh process, ${what}, medians of ${RUNS}`,
    ['Function', 'Asked', 'Median', 'More than bare', 'Allowed', 'Bundle', 'With gzip'],
    built.map(({ each: { name, path, status, beside }, weight }) => [
      name,
      `${path} (${status})`,
      ms(median(name)),
      beside ? ms(median(name) - median(beside.bare)) : '',
      beside ? ms(beside.allowed) : '',
      `${Math.round(weight.bytes / 1_000)} kB`,
      `${Math.round(weight.gzipBytes / 1_000)} kB`,
    ]),
  );
}

async function build(each: Case, folder: string) {
  const bundle = await bundleFunction(each.entry);
  const into = join(folder, each.name);
  await mkdir(into);
  for (const { path, contents } of bundle.files) await writeFile(join(into, path), contents);
  return { each, file: join(into, 'index.mjs'), weight: weigh(bundle) };
}

const run = promisify(execFile);
const script = join(import.meta.dirname, 'first-request.ts');

async function measure(
  { name, path, init, status }: Case,
  file: string,
  cache: string | null,
): Promise<number> {
  const { stdout } = await run(process.execPath, [script, file, path, JSON.stringify(init ?? {})], {
    env: {
      PATH: process.env.PATH,
      ...environment,
      ...(cache === null ? {} : { NODE_COMPILE_CACHE: cache }),
    },
  });
  const answer = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  if (answer.status !== status) throw new Error(`${name} answered ${answer.status}`);
  return answer.milliseconds;
}
