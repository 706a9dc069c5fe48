import { GatewayFailure, translateFailure } from '../../gateway/failure.ts';
import type { AppError } from '../../platform/errors.ts';
import { embedByHashing, hashingModel, normalize } from './hashing.ts';

/** Turns texts into vectors with one embedding model. */
export interface Embedder {
  readonly dimensions: number;
  /** How many texts one call may get. */
  readonly batchSize: number;
  /** Vectors of length 1, one a text, in the texts' order. Throws AppError as the gateway's client does. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
}

/** Vectors of the model gateway as its client gives them; the client knows the model and the keys. */
export type EmbedByGateway = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** One request to the gateway: small enough for its time limit. */
const GATEWAY_BATCH_SIZE = 64;
/** Some 20 milliseconds, in which the process does nothing else. */
const HASHING_BATCH_SIZE = 64;

/** The built-in model. */
export const hashingEmbedder: Embedder = {
  dimensions: hashingModel.dimensions,
  batchSize: HASHING_BATCH_SIZE,
  embed: async (texts) => texts.map(embedByHashing),
};

/**
 * A model of the gateway. Its answers come from outside: a wrong number of vectors, other dimensions than
 * the generation's, or a vector that is no direction is GATEWAY_ERROR.
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
    throw unusable(`a vector of ${vector.length} dimensions in place of ${dimensions}`);
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
