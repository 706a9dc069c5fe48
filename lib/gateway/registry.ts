import type { Redis } from '@upstash/redis';
import { ZodError } from 'zod';
import type { GatewayConfig } from '../platform/config/gateway.ts';
import type { Deps } from '../platform/deps.ts';
import { AppError } from '../platform/errors.ts';
import { warnOccasionally } from '../platform/occasional-log.ts';
import type { GatewayClient } from './client.ts';
import { createDimensionsLearner } from './dimensions.ts';
import { GatewayFailure, keyStatuses } from './failure.ts';
import type { KeyRing } from './keys.ts';
import {
  type EmbeddingModel,
  type GatewayModels,
  type ListedEmbeddingModel,
  type Model,
  readModels,
} from './models.ts';
import type { GatewayTransport } from './transport.ts';

/** A list of models; `cached` when the gateway was not asked for it now. */
export interface ModelList<Entry> {
  models: Entry[];
  cached: boolean;
}

/** Keys of the caller, resolved only when the gateway has to be asked with one. */
export type ResolveKeys = () => Promise<KeyRing>;

/**
 * The models that may be used: the gateway's free ones and the built-in ones. Methods throw
 * MODEL_REGISTRY_UNAVAILABLE when a gateway model is asked for and the gateway's list is neither
 * readable nor kept from earlier; `require…` throws MODEL_NOT_ALLOWED for a model that is not listed.
 */
export interface ModelRegistry {
  /** Built-in models alone while the gateway's list cannot be read. */
  listEmbeddingModels(keys: ResolveKeys): Promise<ModelList<EmbeddingModel>>;
  listRerankingModels(): Promise<ModelList<Model>>;
  listChatModels(): Promise<ModelList<Model>>;
  /** Also throws what learning the dimensions throws, where the list does not say them. */
  requireEmbeddingModel(id: string, keys: ResolveKeys): Promise<EmbeddingModel>;
  requireRerankingModel(id: string): Promise<Model>;
  /** GATEWAY_MODEL is allowed whatever it costs, without a look at the list. */
  requireChatModel(id: string): Promise<void>;
}

const CACHE_MS = 10 * 60_000;
/** While a stale copy serves, the gateway is asked again no more often than this. */
const RETRY_MS = 30_000;
/** Nobody waits for a list as long as for a model. */
const LIST_TIMEOUT_MS = 10_000;
const MAX_LIST_BYTES = 32 * 1024 * 1024;
/** However many models a gateway lists without dimensions, it is asked for so many at a time. */
const LEARNT_AT_ONCE = 4;

export interface RegistryHandles extends Pick<Deps<GatewayConfig>, 'config' | 'clock' | 'log'> {
  redis: Redis | null;
  transport: GatewayTransport;
  client: GatewayClient;
  /** Embedding models that need no gateway. */
  builtIn: readonly EmbeddingModel[];
}

/** The registry of one process (decisions 5, Model registry). */
export function createModelRegistry(handles: RegistryHandles): ModelRegistry {
  const { config, builtIn } = handles;
  const warn = warnOccasionally(handles, 60_000);
  const learner = createDimensionsLearner(handles);
  const readList = cacheModels(handles, warn);

  async function withDimensions(
    model: ListedEmbeddingModel,
    keys: ResolveKeys,
  ): Promise<EmbeddingModel> {
    const { id, name, context_length, is_free } = model;
    const dimensions = model.dimensions ?? (await learner.learn(id, keys));
    return { id, name, context_length, dimensions, is_free };
  }

  /** Null for a model that nobody can tell the dimensions of now: it could not be used either. */
  async function withDimensionsIfKnown(model: ListedEmbeddingModel, keys: ResolveKeys) {
    try {
      return await withDimensions(model, keys);
    } catch (error) {
      warn('an embedding model is not listed: its dimensions could not be learnt', { error });
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
        warn('the built-in embedding models alone are listed', { error });
        return null;
      });
      const free = found?.models.embedding.filter(({ is_free }) => is_free) ?? [];
      const listed: (EmbeddingModel | null)[] = [];
      const left = free.entries();
      const learnOnes = async () => {
        for (const [at, model] of left) listed[at] = await withDimensionsIfKnown(model, keys);
      };
      await Promise.all(Array.from({ length: LEARNT_AT_ONCE }, learnOnes));
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
 * Reads the gateway's lists at most every 10 minutes, once for all who ask at a time. When it is down
 * the copy from before serves.
 */
function cacheModels(
  { config, clock, transport }: RegistryHandles,
  warn: ReturnType<typeof warnOccasionally>,
) {
  let kept: { models: GatewayModels; freshUntil: number } | null = null;
  let reading: Promise<GatewayModels> | null = null;

  async function read(): Promise<GatewayModels> {
    const [models, embeddingModels] = await Promise.all([
      readAnswer('/models'),
      // A gateway that embeds nothing may lack the list.
      readAnswer('/embeddings/models').catch((error: unknown) => {
        if (error instanceof GatewayFailure && error.outcome === 404) return { data: [] };
        throw error;
      }),
    ]);
    return readModels(models, embeddingModels);
  }

  /** The lists are public on some gateways; others want any key. */
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
      warn('the model list of the gateway is stale', { error });
      kept.freshUntil = clock.now() + RETRY_MS;
      return { models: kept.models, cached: true };
    }
  };
}

function registryUnavailable(cause: unknown): AppError {
  const message = 'the models of the gateway cannot be listed now';
  return new AppError('MODEL_REGISTRY_UNAVAILABLE', message, { cause });
}

function refuseModel(): never {
  throw new AppError('MODEL_NOT_ALLOWED', 'the model is not one of those that may be used');
}
