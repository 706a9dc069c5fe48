import * as z from 'zod';

/** A UUID of any version, converted to lower case. */
export const uuid = z.guid('must be a UUID').toLowerCase();

/** A whole number in a query, from `min` to `max`. */
export function integerQuery(min: number, max: number, description: string) {
  const fault = `must be a whole number, ${min} to ${max}`;
  return z
    .string('must be given once')
    .regex(/^\d{1,16}$/, fault)
    .transform(Number)
    .refine((number) => number >= min && number <= max, fault)
    .meta({
      description,
      override: ({ jsonSchema }: { jsonSchema: object }) => {
        const limits = { type: 'integer', minimum: min, maximum: max };
        Object.assign(jsonSchema, limits, { pattern: undefined });
      },
    });
}
