import type { z } from 'zod';

/** A missing or invalid variable. The message names the variable, never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** `process.env`, or a substitute in tests. */
export type Environment = Record<string, string | undefined>;

/** Alternative names that a platform's integration sets. */
const aliases: Record<string, string> = {
  UPSTASH_REDIS_REST_URL: 'KV_REST_API_URL',
  UPSTASH_REDIS_REST_TOKEN: 'KV_REST_API_TOKEN',
};

/** Variables whose empty value differs from unset: an empty OBSERVATORY_URL means none. */
const meaningfulWhenEmpty: ReadonlySet<string> = new Set(['OBSERVATORY_URL']);

/**
 * Reads and validates a group of variables. Empty values count as unset, except where they are meaningful.
 * Throws a one-line ConfigError that names each invalid variable and what it must be, never its value.
 */
export function readConfig<Shape extends z.ZodRawShape>(
  variables: z.ZodObject<Shape>,
  environment: Environment,
): z.output<z.ZodObject<Shape>> {
  const given: Environment = {};
  for (const name of Object.keys(variables.shape)) {
    const alias = aliases[name];
    given[name] = environment[name] || (alias && environment[alias]) || undefined;
    if (meaningfulWhenEmpty.has(name)) given[name] = environment[name];
  }
  // Compiling the schema does not pay off for a single use.
  const parsed = variables.safeParse(given, { jitless: true });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`);
  throw new ConfigError([...new Set(problems)].join('; '));
}
