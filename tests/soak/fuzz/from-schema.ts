import fc from 'fast-check';
import { hostileValue } from './hostile.ts';
import { type JsonSchema, type OpenApi, resolveSchema } from './operations.ts';

/** Values that exist on the server, by the names of the fields that take them. */
export type KnownValues = (field: string) => fc.Arbitrary<unknown> | null;

export interface SchemaSources {
  document: OpenApi;
  known: KnownValues;
  /** One value in this many is of another kind than the schema says. */
  hostileIn: number;
}

/**
 * Generates values of a schema: mostly allowed ones, and now and then one that is not. A field that names something on
 * the server mostly names something that exists.
 */
export function valuesOf(
  schema: JsonSchema,
  sources: SchemaSources,
  field = '',
): fc.Arbitrary<unknown> {
  const { hostileIn } = sources;
  const known = sources.known(field);
  const allowed = allowedBy(schema, sources, field);
  return fc.oneof(
    { weight: hostileIn - 1, arbitrary: known ? likely(known, allowed) : allowed },
    { weight: 1, arbitrary: hostileValue },
  );
}

function likely(known: fc.Arbitrary<unknown>, allowed: fc.Arbitrary<unknown>) {
  return fc.oneof({ weight: 3, arbitrary: known }, { weight: 1, arbitrary: allowed });
}

function allowedBy(
  given: JsonSchema,
  sources: SchemaSources,
  field: string,
): fc.Arbitrary<unknown> {
  const schema = resolveSchema(sources.document, given);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) {
    return fc.oneof(...alternatives.map((it) => allowedBy(it, sources, field)));
  }
  const [type, ...others] = [schema.type ?? 'any'].flat();
  if (others.length > 0) {
    const each = [type, ...others].map((it) => ({ ...schema, type: it }) as JsonSchema);
    return fc.oneof(...each.map((it) => allowedBy(it, sources, field)));
  }
  switch (type) {
    case 'object':
      return objects(schema, sources);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, sources, `${field}[]`), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, (schema.minItems ?? 0) + 4),
      });
    case 'integer':
      return integers(schema);
    case 'number':
      return fc.oneof(
        integers(schema),
        fc.double({
          min: schema.minimum ?? -1e6,
          max: schema.maximum ?? 1e6,
          noNaN: true,
        }),
      );
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return strings(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** Required fields are mostly present, optional ones half of the time; now and then there is an unknown one. */
function objects(schema: JsonSchema, sources: SchemaSources): fc.Arbitrary<unknown> {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const value = valuesOf(property, sources, name);
    const absent = fc.constant(undefined);
    const weight = required.has(name) ? 4 * sources.hostileIn : 1;
    return fc
      .oneof({ weight, arbitrary: value }, { weight: 1, arbitrary: absent })
      .map((it) => [name, it] as const);
  });
  const extra = fc.oneof(
    { weight: 9, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.tuple(fc.constantFrom('x', '__proto__', 'toString'), hostileValue), {
        maxLength: 2,
      }),
    },
  );
  return fc
    .tuple(fc.tuple(...fields), extra)
    .map(([own, more]) => Object.fromEntries([...own, ...more]));
}

/** Values near the ends of the range are as frequent as small ones. */
function integers({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const min = Math.max(minimum ?? Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER);
  const max = Math.min(maximum ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  return fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: Math.max(min, 0), max: Math.min(max, 60) }) },
    { weight: 1, arbitrary: fc.constantFrom(min, max) },
    { weight: 1, arbitrary: fc.maxSafeInteger().map((it) => Math.min(max, Math.max(min, it))) },
  );
}

const words = fc
  .array(fc.constantFrom('backup', 'clone', 'failed', 'token', 'acme', 'widgets', 'or', '-x'), {
    minLength: 1,
    maxLength: 6,
  })
  .map((it) => it.join(' '));

function strings({ format, minLength = 0, maxLength = 200 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((it) => it.toJSON());
  const any = fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 300) });
  const short = words.map((it) => it.padEnd(minLength, '~').slice(0, maxLength));
  const ends = fc.constantFrom('x'.repeat(minLength), 'y'.repeat(Math.min(maxLength, 20_000)));
  return fc.oneof(
    { weight: 5, arbitrary: short },
    { weight: 2, arbitrary: any },
    { weight: 1, arbitrary: ends },
  );
}
