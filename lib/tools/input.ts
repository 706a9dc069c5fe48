import * as z from 'zod';

/** Most ids in the database are 32-bit. */
const MAX_ID = 2 ** 31 - 1;

interface IntegerParameter {
  description: string;
  min: number;
  max: number;
}

/**
 * An integer within bounds. Text is accepted too, because some clients send it; the published schema says
 * integer.
 */
export function integerParameter({ description, min, max }: IntegerParameter) {
  return z
    .preprocess(
      (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
      z.int(`must be an integer, ${min} to ${max}`).min(min).max(max),
    )
    .meta({ description });
}

/** An optional integer parameter with a default. */
export function integerWithDefault(parameter: IntegerParameter & { default: number }) {
  const { default: fallback, description } = parameter;
  return integerParameter(parameter).default(fallback).meta({ description });
}

/** A boolean. Text is accepted too, because some clients send it. */
export const booleanParameter = (description: string) =>
  z
    .preprocess(
      (value) => (value === 'true' ? true : value === 'false' ? false : value),
      z.boolean('must be true or false'),
    )
    .meta({ description });

/** Where to continue a list: `next` of the previous answer, which is the number of items before it. */
export const cursorParameter = z
  .preprocess(
    (value) => (typeof value === 'number' ? String(value) : value),
    z.string().regex(/^\d{1,9}$/, 'must be the `next` of an earlier answer'),
  )
  .transform(Number)
  .optional()
  .meta({ description: 'The `next` of the previous answer, to continue from there.' });

/** `page`, `limit` and `cursor` of a list. A cursor overrides the page. */
export const pageParameters = (limit: { default: number; max: number }) => ({
  page: integerWithDefault({
    description: 'Page to read, counting from 1. A page past the end is empty.',
    min: 1,
    max: MAX_ID,
    default: 1,
  }),
  limit: limitParameter('Items on a page.', limit),
  cursor: cursorParameter,
});

/** The maximum number of items. */
export const limitParameter = (description: string, limit: { default: number; max: number }) =>
  integerWithDefault({ description, min: 1, ...limit });

/** A 32-bit integer of at least `min`. */
export const countParameter = (description: string, min: number) =>
  integerParameter({ description, min, max: MAX_ID });

/** The id of a backup run. */
export const runIdParameter = (description: string) =>
  integerParameter({ description, min: 1, max: MAX_ID });

/** The id of a log, which is 64-bit. */
export const idParameter = (description: string) =>
  integerParameter({ description, min: 1, max: Number.MAX_SAFE_INTEGER });

/**
 * A text of at most `max` characters that Postgres can store: NUL is rejected, and half a surrogate pair becomes
 * U+FFFD.
 */
export const optionalText = (description: string, max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !text.includes('\0'), 'must not contain NUL')
    .overwrite((text) => text.toWellFormed())
    .meta({ description });

/** A text of at most `max` characters that is not blank. */
export const textParameter = (description: string, max: number) =>
  optionalText(description, max)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ description });
