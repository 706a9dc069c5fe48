import * as z from 'zod';
import { type GatewayConfig, gatewayVariables } from '../config/gateway.ts';
import { configFolder, gitHostVariables } from '../config/git-host.ts';
import { readConfig } from '../config/read.ts';
import { AppError } from '../errors.ts';
import { createGatewayClient } from '../gateway/client.ts';
import { createServerKeyRing, createUserKeyRing, type KeyRing } from '../gateway/keys.ts';
import { createGatewayTransport } from '../gateway/transport.ts';
import { type EmbeddingGateway, openEmbedder } from '../search/embedders/open-embedder.ts';
import { readEmbeddingStatus } from '../search/embedding-status.ts';
import { enqueueNewSources } from '../search/enqueue-new-sources.ts';
import {
  abandonGeneration,
  activateGeneration,
  findGeneration,
  type GenerationStatus,
} from '../search/generations.ts';
import { processBatches } from '../search/process-batch.ts';
import { requireVectors } from '../search/vector-storage.ts';
import {
  type CommandContext,
  contextVariables,
  type WorkerOptions,
  withDatabase,
} from './base/command-context.ts';
import type { EmbedCommand } from './command-line.ts';
import { openLoginStore } from './logins/login-store.ts';
import { readSecrets } from './logins/refresh.ts';

const embedVariables = z.object({ ...contextVariables, ...gatewayVariables.shape });

const LOGIN = 'gateway:default';
const BATCH_SIZE = 200;
/** Time between progress updates and checks of the signal, for a bar and for lines. */
const BUDGET_MS = { bar: 1_000, lines: 10_000 };
/** Pause while other workers hold the remaining jobs, or the index is being built. */
const WAIT_MS = 5_000;

/**
 * `worker embed`: embeds until no job is left and returns the exit code. Throws SERVICE_UNAVAILABLE without
 * the vector extension, the gateway's error if it prevents all jobs, RunStopped when interrupted.
 */
export async function runEmbed(options: WorkerOptions, command: EmbedCommand): Promise<number> {
  const config = readConfig(embedVariables, options.environment);
  return withDatabase(options, config, async (context) => {
    const { db, display } = context;
    const { stdout } = options.io;
    await requireVectors(db);
    if (command.abandon) {
      const abandoned = await abandonGeneration(db);
      stdout.write(
        abandoned === null
          ? 'No generation is being built.\n'
          : `Generation ${abandoned} is FAILED: POST /embeddings/prune deletes it.\n`,
      );
      return 0;
    }
    await enqueueNewSources(db);
    const id =
      (await findGeneration(db, 'BUILDING')) ??
      (command.activate ? await findGeneration(db, 'READY') : null) ??
      (await findGeneration(db, 'ACTIVE'));
    if (id === null) {
      stdout.write('There is no generation: POST /embeddings/switch-model starts one.\n');
      return 0;
    }
    const client = createGatewayClient(createGatewayTransport({ ...options, config }));
    const gateway = { client, keys: () => resolveKeys(context, config) };
    const { status, failed } = await embedAll(context, gateway, id);
    display.clear();
    return finish(context, command, { id, status, failed });
  });
}

/** The key of `login gateway`, if it was created for this gateway, else those of the server. */
async function resolveKeys(
  { environment, keychain, display }: CommandContext,
  config: GatewayConfig,
): Promise<KeyRing> {
  const folder = configFolder(readConfig(gitHostVariables, environment), environment);
  const store = openLoginStore({ folder, keychain, notify: display.line });
  const login = await store.find(LOGIN);
  if (login !== null && login.host === new URL(config.GATEWAY_BASE_URL).origin) {
    const { token } = await readSecrets(LOGIN, login, store);
    return createUserKeyRing(token, { used: () => undefined, refused: async () => undefined });
  }
  if (config.GATEWAY_API_KEYS.length > 0) return createServerKeyRing(config.GATEWAY_API_KEYS);
  throw new AppError(
    'GATEWAY_NOT_CONFIGURED',
    'no key for the model gateway: run `npm run worker -- login gateway`, or set GATEWAY_API_KEYS',
  );
}

/** Processes jobs until none is left, including those abandoned by other workers. */
async function embedAll(
  context: CommandContext,
  gateway: EmbeddingGateway,
  id: number,
): Promise<{ status: GenerationStatus; failed: number }> {
  const { db, clock, display, signal } = context;
  const { isTerminal } = context.io;
  const budgetMs = isTerminal ? BUDGET_MS.bar : BUDGET_MS.lines;
  let { progress } = await readEmbeddingStatus(db, id);
  for (;;) {
    signal.throwIfAborted();
    const report = await processBatches(
      { ...context, openEmbedder: (generation) => openEmbedder(generation, gateway) },
      { generationId: id, batchSize: BATCH_SIZE, maxBatches: 1_000, budgetMs },
    );
    const status = report.generation_status;
    let isDone = false;
    if (report.batches > 0 && (status === 'BUILDING' || status === 'ACTIVE')) {
      // Counting millions of jobs takes longer than a batch.
      const processed = Math.min(progress.total, progress.processed + report.processed);
      progress = { ...progress, processed, failed: progress.failed + report.failed };
    } else {
      const now = await readEmbeddingStatus(db, id);
      progress = now.progress;
      isDone = now.pending_jobs === 0 && status !== 'BUILDING';
    }
    const { processed, total, failed } = progress;
    const isWaiting = report.batches === 0 && !isDone;
    const doing = isWaiting
      ? 'waiting for other workers'
      : `jobs of generation ${id}${failed > 0 ? `, ${failed} failed` : ''}`;
    display.progress(processed, total, doing);
    if (!isTerminal && report.processed > 0) display.line(`${processed} of ${total} ${doing}`);
    if (isDone) return { status, failed };
    if (isWaiting) await clock.sleep(WAIT_MS, signal);
  }
}

async function finish(
  { db, io: { stdout } }: CommandContext,
  { activate }: EmbedCommand,
  { id, status, failed }: { id: number; status: GenerationStatus; failed: number },
): Promise<number> {
  const but = failed > 0 ? `; ${failed} jobs failed` : '';
  if (status === 'FAILED') {
    throw new AppError('INTERNAL_ERROR', `generation ${id} is FAILED: none of its jobs succeeded`);
  }
  if (status === 'READY' && activate) {
    const retired = await activateGeneration(db, id);
    const before = retired.length > 0 ? `, ${retired.join(', ')} is RETIRED` : '';
    stdout.write(`Generation ${id} is ACTIVE${before}${but}.\n`);
  } else if (status === 'READY') {
    stdout.write(
      `Generation ${id} is READY${but}. Let searches use it with \`npm run worker -- embed --activate\`.\n`,
    );
  } else {
    stdout.write(`Generation ${id} is ${status} and up to date${but}.\n`);
  }
  return 0;
}
