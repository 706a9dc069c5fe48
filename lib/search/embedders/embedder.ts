import type { AppError } from '../../errors.ts';
import { GatewayFailure, translateFailure } from '../../gateway/gateway-failure.ts';
import { embedByHashing, hashingModel, normalize } from './hashing.ts';

/** Turns texts into vectors with one embedding model. */
export interface Embedder {
  readonly dimensions: number;
  /** The maximum number of texts per call. */
  readonly batchSize: number;
  /** Returns one unit vector per text, in order. Throws the AppErrors of the gateway client. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
}

/** Embeds texts with the gateway client; model and keys are already bound. */
export type EmbedByGateway = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** Small enough for the gateway's time limit. */
const GATEWAY_BATCH_SIZE = 64;
/** Blocks the event loop for about 20 ms. */
const HASHING_BATCH_SIZE = 64;

/** The built-in model. */
export const hashingEmbedder: Embedder = {
  dimensions: hashingModel.dimensions,
  batchSize: HASHING_BATCH_SIZE,
  embed: async (texts) => texts.map(embedByHashing),
};

/**
 * A model of the gateway. Throws GATEWAY_ERROR for a wrong number of vectors, wrong dimensions, or a vector
 * without a direction.
 */
export function gatewayEmbedder(dimensions: number, embedByGateway: EmbedByGateway): Embedder {
  return {
    dimensions,
    batchSize: GATEWAY_BATCH_SIZE,
    async embed(texts) {
      const vectors = await embedByGateway(texts);
      if (vectors.length !== texts.length) {
        throw unusable(`${vectors.length} vectors for ${texts.length} texts`);
      }
      return vectors.map((vector) => toUnitVector(vector, dimensions));
    },
  };
}

function toUnitVector(vector: readonly number[], dimensions: number): Float32Array {
  if (vector.length !== dimensions) {
    throw unusable(`a vector of ${vector.length} dimensions instead of ${dimensions}`);
  }
  try {
    return normalize(Float32Array.from(vector));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw unusable('a vector without a direction');
  }
}

function unusable(what: string): AppError {
  return translateFailure(new GatewayFailure('malformed', `the model gateway answered ${what}`));
}
