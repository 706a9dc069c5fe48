import type { Redis } from '@upstash/redis';
import { ZodError } from 'zod';
import type { GatewayConfig } from '../config/gateway.ts';
import { AppError } from '../errors.ts';
import type { Deps } from '../http/deps.ts';
import { warnOccasionally } from '../log/occasional-log.ts';
import type { GatewayClient } from './client.ts';
import { createDimensionsLookup } from './embedding-dimensions.ts';
import { GatewayFailure, keyStatuses } from './gateway-failure.ts';
import type { KeyRing } from './keys.ts';
import {
  type EmbeddingModel,
  type GatewayModels,
  type ListedEmbeddingModel,
  type Model,
  readModels,
} from './model-list.ts';
import type { GatewayTransport } from './transport.ts';

/** A list of models; `cached` when it was not fetched just now. */
export interface ModelList<Entry> {
  models: Entry[];
  cached: boolean;
}

/** Resolves the caller's keys, only when needed. */
export type ResolveKeys = () => Promise<KeyRing>;

/**
 * The allowed models: built-in ones and the gateway's free ones. Methods throw MODEL_REGISTRY_UNAVAILABLE
 * when they need the gateway's list and it is neither available nor cached; `require…` throws
 * MODEL_NOT_ALLOWED for a model that is not listed.
 */
export interface ModelRegistry {
  /** Only built-in models while the gateway's list is unavailable. */
  listEmbeddingModels(keys: ResolveKeys): Promise<ModelList<EmbeddingModel>>;
  listRerankingModels(): Promise<ModelList<Model>>;
  listChatModels(): Promise<ModelList<Model>>;
  /** Also throws what finding the dimensions throws, if the list does not contain them. */
  requireEmbeddingModel(id: string, keys: ResolveKeys): Promise<EmbeddingModel>;
  requireRerankingModel(id: string): Promise<Model>;
  /** GATEWAY_MODEL is always allowed, whatever its price. */
  requireChatModel(id: string): Promise<void>;
}

const CACHE_MS = 10 * 60_000;
/** How often to ask the gateway again while serving a stale copy. */
const RETRY_MS = 30_000;
/** Shorter than for model requests. */
const LIST_TIMEOUT_MS = 10_000;
const MAX_LIST_BYTES = 32 * 1024 * 1024;
/** Concurrent lookups of dimensions that the list does not contain. */
const MAX_CONCURRENT_LOOKUPS = 4;

export interface RegistryDeps extends Pick<Deps<GatewayConfig>, 'config' | 'clock' | 'log'> {
  redis: Redis | null;
  transport: GatewayTransport;
  client: GatewayClient;
  /** Embedding models that need no gateway. */
  builtIn: readonly EmbeddingModel[];
}

/** Creates the registry of one process. */
export function createModelRegistry(deps: RegistryDeps): ModelRegistry {
  const { config, builtIn } = deps;
  const warn = warnOccasionally(deps, 60_000);
  const lookup = createDimensionsLookup(deps);
  const readList = cacheModels(deps, warn);

  async function withDimensions(
    model: ListedEmbeddingModel,
    keys: ResolveKeys,
  ): Promise<EmbeddingModel> {
    const { id, name, context_length, is_free } = model;
    const dimensions = model.dimensions ?? (await lookup.find(id, keys));
    return { id, name, context_length, dimensions, is_free };
  }

  /** Returns null when the dimensions cannot be found: the model could not be used either. */
  async function withDimensionsIfKnown(model: ListedEmbeddingModel, keys: ResolveKeys) {
    try {
      return await withDimensions(model, keys);
    } catch (error) {
      warn('an embedding model is not listed: its dimensions could not be found', { error });
      return null;
    }
  }

  async function listFree(kind: 'reranking' | 'chat'): Promise<ModelList<Model>> {
    const { models, cached } = await readList();
    return { models: models[kind].filter(({ is_free }) => is_free), cached };
  }

  async function requireFree(kind: 'reranking' | 'chat', id: string): Promise<Model> {
    const { models } = await listFree(kind);
    return models.find((model) => model.id === id) ?? refuseModel();
  }

  return {
    async listEmbeddingModels(keys) {
      const found = await readList().catch((error: unknown) => {
        warn('only the built-in embedding models are listed', { error });
        return null;
      });
      const free = found?.models.embedding.filter(({ is_free }) => is_free) ?? [];
      const listed: (EmbeddingModel | null)[] = [];
      const left = free.entries();
      const lookUpNext = async () => {
        for (const [at, model] of left) listed[at] = await withDimensionsIfKnown(model, keys);
      };
      await Promise.all(Array.from({ length: MAX_CONCURRENT_LOOKUPS }, lookUpNext));
      const models = listed.filter((model) => model !== null);
      return { models: [...builtIn, ...models], cached: found?.cached ?? false };
    },
    listRerankingModels: () => listFree('reranking'),
    listChatModels: () => listFree('chat'),
    async requireEmbeddingModel(id, keys) {
      const own = builtIn.find((model) => model.id === id);
      if (own) return own;
      const { models } = await readList();
      const listed = models.embedding.find((model) => model.id === id && model.is_free);
      return listed ? withDimensions(listed, keys) : refuseModel();
    },
    requireRerankingModel: (id) => requireFree('reranking', id),
    async requireChatModel(id) {
      if (id !== config.GATEWAY_MODEL) await requireFree('chat', id);
    },
  };
}

/**
 * Fetches the gateway's lists at most every 10 minutes, once for concurrent callers. Serves a stale copy
 * while the gateway is down.
 */
function cacheModels(
  { config, clock, transport }: RegistryDeps,
  warn: ReturnType<typeof warnOccasionally>,
) {
  let kept: { models: GatewayModels; freshUntil: number } | null = null;
  let reading: Promise<GatewayModels> | null = null;

  async function read(): Promise<GatewayModels> {
    const [models, embeddingModels] = await Promise.all([
      readAnswer('/models'),
      // A gateway without embedding models may not have this list.
      readAnswer('/embeddings/models').catch((error: unknown) => {
        if (error instanceof GatewayFailure && error.outcome === 404) return { data: [] };
        throw error;
      }),
    ]);
    return readModels(models, embeddingModels);
  }

  /** Tries all server keys, then none: some gateways require a key, others do not. */
  async function readAnswer(to: string): Promise<unknown> {
    let refusal: GatewayFailure | null = null;
    for (const key of [...config.GATEWAY_API_KEYS, null]) {
      try {
        const timeoutMs = Math.min(LIST_TIMEOUT_MS, config.GATEWAY_REQUEST_TIMEOUT_SECONDS * 1000);
        const maxBytes = MAX_LIST_BYTES;
        return await transport.requestJson({ method: 'GET', to, key, timeoutMs, maxBytes });
      } catch (error) {
        if (!(error instanceof GatewayFailure) || !keyStatuses.has(error.outcome)) throw error;
        refusal = error;
      }
    }
    throw refusal;
  }

  return async function readList(): Promise<{ models: GatewayModels; cached: boolean }> {
    if (kept && clock.now() < kept.freshUntil) return { models: kept.models, cached: true };
    reading ??= read().finally(() => {
      reading = null;
    });
    try {
      const models = await reading;
      kept = { models, freshUntil: clock.now() + CACHE_MS };
      return { models, cached: false };
    } catch (error) {
      if (!(error instanceof GatewayFailure || error instanceof ZodError)) throw error;
      if (kept === null) throw registryUnavailable(error);
      warn("the gateway's model list is stale", { error });
      kept.freshUntil = clock.now() + RETRY_MS;
      return { models: kept.models, cached: true };
    }
  };
}

function registryUnavailable(cause: unknown): AppError {
  const message = "the gateway's models cannot be listed now";
  return new AppError('MODEL_REGISTRY_UNAVAILABLE', message, { cause });
}

function refuseModel(): never {
  throw new AppError('MODEL_NOT_ALLOWED', 'this model is not allowed');
}
