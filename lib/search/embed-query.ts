import type { Database } from '../database/database.ts';
import { askGateway, type CallerGateway, type GatewayAnswer } from './ask-gateway.ts';
import { gatewayEmbedder, hashingEmbedder } from './embedders/embedder.ts';
import { hashingModel } from './embedders/hashing.ts';

/** The embedding model of a generation. */
export interface VectorModel {
  id: string;
  dimensions: number;
}

/** A query as a unit vector. */
export interface QueryVector {
  model: VectorModel;
  values: Float32Array;
}

/**
 * The active model at the last search of this database, so that a search can embed its query before its only
 * round trip. Just a guess; the result contains the model that is actually active.
 */
const lastActive = new WeakMap<Database, VectorModel>();

/** The model that is probably active; initially the built-in one. */
export function guessActiveModel(db: Database): VectorModel {
  return lastActive.get(db) ?? hashingModel;
}

/** Remembers the model that a search found active. */
export function noteActiveModel(db: Database, model: VectorModel): void {
  lastActive.set(db, model);
}

/** Embeds a query, in this process with the built-in model, otherwise through the gateway. */
export async function embedQuery(
  gateway: CallerGateway,
  model: VectorModel,
  text: string,
): Promise<GatewayAnswer<QueryVector>> {
  if (model.id === hashingModel.id) {
    const [values] = await hashingEmbedder.embed([text]);
    if (!values) throw new Error('the built-in model returned no vector');
    return { value: { model, values }, failure: null, fatal: null };
  }
  const { client, signal } = gateway;
  return askGateway(gateway, async (keys) => {
    const embedder = gatewayEmbedder(model.dimensions, (texts) =>
      client.embedTexts({ model: model.id, texts, keys, ...(signal ? { signal } : {}) }),
    );
    const [values] = await embedder.embed([text]);
    if (!values) throw new Error('the gateway model returned no vector');
    return { model, values };
  });
}
