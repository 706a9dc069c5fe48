import type { GatewayClient } from '../../gateway/client.ts';
import type { ResolveKeys } from '../../gateway/model-registry.ts';
import { type Embedder, gatewayEmbedder, hashingEmbedder } from './embedder.ts';
import { hashingModel } from './hashing.ts';

/** The gateway as an embedder needs it. */
export interface EmbeddingGateway {
  client: GatewayClient;
  /** Resolves the caller's keys. Throws when there are none. */
  keys: ResolveKeys;
}

/**
 * The embedder of a generation's model: built-in, without keys, or from the gateway. Throws what resolving
 * the keys throws.
 */
export async function openEmbedder(
  { model_id, dimensions }: { model_id: string; dimensions: number },
  gateway: EmbeddingGateway,
): Promise<Embedder> {
  if (model_id === hashingModel.id) return hashingEmbedder;
  const keys = await gateway.keys();
  return gatewayEmbedder(dimensions, (texts) =>
    gateway.client.embedTexts({ model: model_id, texts, keys }),
  );
}
