import { z } from 'zod';

/** Ids in the database are 32-bit. */
const MAX_ID = 2 ** 31 - 1;

interface IntegerParameter {
  description: string;
  min: number;
  max: number;
}

/**
 * An integer within bounds. One that arrives as text is read too, since clients send both; the published
 * schema says integer (decisions 6).
 */
function integerParameter({ description, min, max }: IntegerParameter) {
  return z
    .preprocess(
      (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
      z.int(`must be an integer, ${min} to ${max}`).min(min).max(max),
    )
    .meta({ description });
}

/** An integer parameter that may be left out. */
export function integerWithDefault(parameter: IntegerParameter & { default: number }) {
  const { default: fallback, description } = parameter;
  return integerParameter(parameter).default(fallback).meta({ description });
}

/** `page` and `limit` of a list. */
export const pageParameters = (limit: { default: number; max: number }) => ({
  page: integerWithDefault({
    description: 'Page to read, counted from 1. Past the end is an empty page.',
    min: 1,
    max: MAX_ID,
    default: 1,
  }),
  limit: limitParameter('Items on a page.', limit),
});

/** How many items come back at most. */
export const limitParameter = (description: string, limit: { default: number; max: number }) =>
  integerWithDefault({ description, min: 1, ...limit });

/** The id of a backup run. */
export const runIdParameter = (description: string) =>
  integerParameter({ description, min: 1, max: MAX_ID });

/**
 * A text of at most `max` characters that Postgres can hold: NUL is refused, half of a surrogate pair
 * becomes U+FFFD.
 */
export const optionalText = (description: string, max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !text.includes('\0'), 'must not contain NUL')
    .overwrite((text) => text.toWellFormed())
    .meta({ description });

/** A text that must not be blank, of at most `max` characters. */
export const textParameter = (description: string, max: number) =>
  optionalText(description, max)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ description });
