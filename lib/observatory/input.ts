import * as z from 'zod';

/**
 * A UUID of any version in its usual form, as Postgres takes it; in lower case.
 */
export const uuid = z.guid('must be a UUID').toLowerCase();

/** A whole number in a query, at least `least` and at most `most`. */
export function integerQuery(least: number, most: number, description: string) {
  const fault = `must be a whole number, ${least} to ${most}`;
  return z
    .string('must be given once')
    .regex(/^\d{1,16}$/, fault)
    .transform(Number)
    .refine((number) => number >= least && number <= most, fault)
    .meta({
      description,
      override: ({ jsonSchema }: { jsonSchema: object }) => {
        const limits = { type: 'integer', minimum: least, maximum: most };
        Object.assign(jsonSchema, limits, { pattern: undefined });
      },
    });
}
