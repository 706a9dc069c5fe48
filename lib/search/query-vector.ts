import type { Database } from '../platform/database/database.ts';
import { gatewayEmbedder, hashingEmbedder } from './embedders/embedder.ts';
import { hashingModel } from './embedders/hashing.ts';
import { askGateway, type CallersGateway, type GatewayAnswer } from './gateway-failures.ts';

/** An embedding model as a generation names it. */
export interface VectorModel {
  id: string;
  dimensions: number;
}

/** A query as a vector of length 1. */
export interface QueryVector {
  model: VectorModel;
  values: Float32Array;
}

/**
 * The model of the generation that was active when this database was searched last, so that a search
 * knows how to embed before it asks: one round trip. Only a guess; the answer says what is active.
 */
const lastActive = new WeakMap<Database, VectorModel>();

/** The model that is probably active; the built-in one before the first search. */
export function guessActiveModel(db: Database): VectorModel {
  return lastActive.get(db) ?? hashingModel;
}

/** Keeps the model that a search found active. */
export function noteActiveModel(db: Database, model: VectorModel): void {
  lastActive.set(db, model);
}

/** Embeds a query with a model: the built-in one in this process, any other by the gateway. */
export async function embedQuery(
  gateway: CallersGateway,
  model: VectorModel,
  text: string,
): Promise<GatewayAnswer<QueryVector>> {
  if (model.id === hashingModel.id) {
    const [values] = await hashingEmbedder.embed([text]);
    if (!values) throw new Error('the built-in model gave no vector');
    return { value: { model, values }, failure: null, fatal: null };
  }
  const { client, signal } = gateway;
  return askGateway(gateway, async (keys) => {
    const embedder = gatewayEmbedder(model.dimensions, (texts) =>
      client.embedTexts({ model: model.id, texts, keys, ...(signal ? { signal } : {}) }),
    );
    const [values] = await embedder.embed([text]);
    if (!values) throw new Error('the gateway model gave no vector');
    return { model, values };
  });
}
