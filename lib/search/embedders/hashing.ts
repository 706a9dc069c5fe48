import { findTerms, type Term } from './terms.ts';

/**
 * The built-in embedding model, as listed by the model registry. It is lexical, not semantic: it compares
 * spelling, not meaning. Any change to its vectors needs a new id.
 */
export const hashingModel = {
  id: 'local/hashing-384',
  name: 'Built-in feature hashing: lexical, not semantic; needs no gateway',
  context_length: 8_192,
  dimensions: 384,
  is_free: true,
} as const;

const { dimensions } = hashingModel;

/** Hash seeds per kind of feature, so that the word `abc` and the trigram `abc` differ. */
const seeds = { term: 0x9e3779b1, prefix: 0x85ebca77, gram: 0xc2b2ae3d };

/** Stop words, which say little about any text. */
const commonWords = new Set(
  `a an and are as at be been but by can could did do does for from had has have how i if in into is
   it its me my no not of on or our so that the their then there these they this to up was we were
   what when where which who why will with would you your`.split(/\s+/),
);
const WEIGHT_OF_COMMON_WORD = 0.15;
/** The total weight of a term's n-grams and of its prefixes, relative to 1 for the term itself. */
const WEIGHT_OF_GRAMS = 1.3;
const WEIGHT_OF_PREFIXES = 0.7;
/** Prefixes match half-remembered words and abbreviated commit hashes. */
const prefixLengths = [4, 5, 6, 7, 8, 10, 12];
/** Longer terms have n-grams only at their start: those of a 64-digit hash would drown out the words. */
const MAX_GRAM_LENGTH = 24;

/**
 * Embeds a text by feature hashing: hashes each term, its prefixes and its trigrams to a signed position
 * among 384. Repeated terms count logarithmically. Returns a unit vector; deterministic.
 */
export function embedByHashing(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [spelling, term] of findTerms(text)) addTerm(vector, spelling, term);
  // Only punctuation, or features that cancel each other out.
  if (!vector.some((value) => value !== 0)) add(vector, hash(text, 0, text.length, 0), 1);
  return normalize(vector);
}

/** Scales a vector to length 1, in place. Throws RangeError when it has no direction. */
export function normalize(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  if (!(length > 0) || !Number.isFinite(length)) throw new RangeError('a vector has no direction');
  for (let n = 0; n < vector.length; n++) vector[n] = (vector[n] ?? 0) / length;
  return vector;
}

function addTerm(vector: Float32Array, spelling: string, term: Term): void {
  const weight = term.weight * (1 + Math.log(term.count));
  const feature = hash(spelling, 0, spelling.length, seeds.term);
  const isCommon = commonWords.has(spelling);
  add(vector, feature, isCommon ? weight * WEIGHT_OF_COMMON_WORD : weight);
  // The words of a compound have their own prefixes and n-grams.
  if (isCommon || term.isCompound) return;
  const lengths = prefixLengths.filter((length) => length <= spelling.length);
  for (const length of lengths) {
    const weightOfPrefix = (weight * WEIGHT_OF_PREFIXES) / Math.sqrt(lengths.length);
    add(vector, hash(spelling, 0, length, seeds.prefix), weightOfPrefix);
  }
  const bounded = `^${spelling.slice(0, MAX_GRAM_LENGTH)}$`;
  const grams = bounded.length - 2;
  const weightOfGram = (weight * WEIGHT_OF_GRAMS) / Math.sqrt(grams);
  for (let start = 0; start < grams; start++) {
    add(vector, hash(bounded, start, start + 3, seeds.gram), weightOfGram);
  }
}

function add(vector: Float32Array, feature: number, weight: number): void {
  const place = feature % dimensions;
  const sign = feature & 0x80000000 ? -1 : 1;
  vector[place] = (vector[place] ?? 0) + sign * weight;
}

/** MurmurHash3 of a substring, with one UTF-16 unit per block. Unsigned 32 bits. */
function hash(text: string, start: number, end: number, seed: number): number {
  let state = seed;
  for (let n = start; n < end; n++) {
    let block = Math.imul(text.charCodeAt(n), 0xcc9e2d51);
    block = Math.imul((block << 15) | (block >>> 17), 0x1b873593);
    state ^= block;
    state = (Math.imul((state << 13) | (state >>> 19), 5) + 0xe6546b64) | 0;
  }
  state ^= end - start;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}
