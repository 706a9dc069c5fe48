import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { claimJobs, LEASE_MS } from '../../lib/search/embedding-jobs.ts';
import { activateGeneration, startGeneration } from '../../lib/search/generations.ts';
import { RunStopped } from '../../lib/worker/base/stop.ts';
import { createTestClock } from '../support/clock.ts';
import { createEmbedded, createPostgres } from '../support/databases.ts';
import { countJobs, createBatches, startBuiltIn } from '../support/embeddings.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { insertLog, sql } from '../support/records.ts';
import { useSearchDatabase } from '../support/search.ts';
import { callWorker, type WorkerCall } from '../support/worker.ts';

const database = useSearchDatabase(createEmbedded);
let db: Database;
beforeAll(() => {
  db = database.db;
});

const embed = (args: string[] = [], call: Partial<WorkerCall> = {}) =>
  callWorker({
    databaseUrl: database.url,
    archives: '/nonexistent',
    args: ['embed', ...args],
    ...call,
    env: { BACKUP_CONFIG_DIR: '/nonexistent/config', ...call.env },
  });
const insertLogs = (count: number) =>
  sql(
    db,
    `INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, ${count}) n`,
  );
const states = async () =>
  (
    await sql<{ state: string }>(
      db,
      `SELECT id || ' ' || status AS state FROM embedding_generations ORDER BY id`,
    )
  ).map(({ state }) => state);

describe('worker embed', () => {
  it('processes every job of the generation being built, and prints how to use it', async () => {
    await insertLogs(450);
    await startBuiltIn(db);
    const { code, stdout, stderr } = await embed();
    expect(code).toBe(0);
    expect(stdout).toBe(
      'Generation 1 is READY. Let searches use it with `npm run worker -- embed --activate`.\n',
    );
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('450 of 450 jobs of generation 1');
    expect(await countJobs(db)).toEqual({ completed: 450 });
    expect(await states()).toEqual(['1 READY']);
  });

  it('shows a bar on a terminal', async () => {
    await insertLogs(10);
    await startBuiltIn(db);
    const { stderr } = await embed([], { isTerminal: true });
    expect(stderr).toContain(`${'█'.repeat(24)} 10/10 jobs of generation 1`);
    // The bar is removed at the end.
    expect(stderr.endsWith('\r\u001b[2K')).toBe(true);
  });

  it('activates the generation it built, or a READY one, with --activate', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    await embed();
    expect((await embed(['--activate'])).stdout).toBe('Generation 1 is ACTIVE.\n');
    await startBuiltIn(db);
    expect((await embed(['--activate'])).stdout).toBe('Generation 2 is ACTIVE, 1 is RETIRED.\n');
    expect(await states()).toEqual(['1 RETIRED', '2 ACTIVE']);
  });

  it('embeds new records for the active generation', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    await embed(['--activate']);
    await insertLog(db, { message: 'new' });
    const { stdout } = await embed();
    expect(stdout).toBe('Generation 1 is ACTIVE and up to date.\n');
    expect(await countJobs(db)).toEqual({ completed: 3 });
  });

  it('says what to do without a generation', async () => {
    expect(await embed()).toMatchObject({
      code: 0,
      stdout: 'There is no generation: POST /embeddings/switch-model starts one.\n',
    });
  });

  it('waits for jobs that another worker holds, and processes them when that worker is gone', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    const clock = createTestClock();
    await claimJobs(db, { generationId: 1, limit: 1, lease: { holder: 'x', now: clock.now() } });
    const running = embed([], { clock });
    await expect.poll(() => clock.sleepers()).toBe(1);
    expect(await countJobs(db)).toEqual({ completed: 1, processing: 1 });
    clock.advance(LEASE_MS);
    expect((await running).code).toBe(0);
    expect(await countJobs(db)).toEqual({ completed: 2 });
  });

  it('ends at once, with code 1, when it is interrupted while it waits', async () => {
    await insertLogs(1);
    await startBuiltIn(db);
    const clock = createTestClock();
    await claimJobs(db, { generationId: 1, limit: 1, lease: { holder: 'x', now: clock.now() } });
    const interrupt = new AbortController();
    const running = embed([], { clock, signal: interrupt.signal });
    await expect.poll(() => clock.sleepers()).toBe(1);
    interrupt.abort(new RunStopped('interrupted by SIGINT'));
    expect(await running).toMatchObject({ code: 1, stderr: 'interrupted by SIGINT\n' });
  });

  it('abandons the generation being built with --abandon', async () => {
    await insertLogs(1);
    await startBuiltIn(db);
    expect((await embed(['--abandon'])).stdout).toBe(
      'Generation 1 is FAILED: POST /embeddings/prune deletes it.\n',
    );
    expect(await states()).toEqual(['1 FAILED']);
    expect((await embed(['--abandon'])).stdout).toBe('No generation is being built.\n');
    await createBatches(db).process();
    expect(await countJobs(db)).toEqual({ pending: 1 });
  });

  it('suggests the nearest option for a wrong one', async () => {
    await expect(embed(['--activat'])).rejects.toThrow(
      "unknown option '--activat' (Did you mean --activate?)",
    );
    await expect(embed(['--activate', '--abandon'])).rejects.toThrow('cannot be used with');
    expect((await embed(['--help'])).stdout).toMatch(/Embeds records for search/);
  });

  it('ends with the reason if the database has no vectors', async () => {
    const plain = await createPostgres();
    try {
      await expect(embed([], { databaseUrl: plain.url })).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining('the vector extension is not installed'),
      });
    } finally {
      await plain.close();
    }
  });
});

describe('worker embed with a gateway model', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());
  beforeEach(async () => {
    await insertLogs(3);
    await startGeneration(db, { id: 'acme/embed-free', dimensions: 8 });
  });

  it('uses the server’s keys', async () => {
    const { code } = await embed(['--activate'], {
      env: { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEYS: 'sk-key-of-the-server' },
    });
    expect(code).toBe(0);
    expect(gateway.requestsTo('/embeddings')[0]?.key).toBe('sk-key-of-the-server');
    expect(await states()).toEqual(['1 ACTIVE']);
  });

  it('says how to get a key if there is none', async () => {
    await expect(embed([], { env: { GATEWAY_BASE_URL: gateway.url } })).rejects.toMatchObject({
      code: 'GATEWAY_NOT_CONFIGURED',
      message: expect.stringContaining('npm run worker -- login gateway'),
    });
  });

  it('fails if every job failed', async () => {
    gateway.always = { status: 400 };
    await expect(
      embed([], {
        env: { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEYS: 'sk-key-of-the-server' },
      }),
    ).rejects.toThrow('generation 1 is FAILED: none of its jobs succeeded');
    await expect(activateGeneration(db, 1)).rejects.toMatchObject({ code: 'CONFLICT' });
    gateway.always = null;
  });
});
