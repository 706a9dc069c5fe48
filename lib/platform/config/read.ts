import type { z } from 'zod';

/** A variable that is missing or has a bad value. The message names the variable, never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The environment as a process has it: `process.env`, or what a test gives. */
export type Environment = Record<string, string | undefined>;

/** Names that a platform's integration gives to a variable of ours. */
const aliases: Record<string, string> = {
  UPSTASH_REDIS_REST_URL: 'KV_REST_API_URL',
  UPSTASH_REDIS_REST_TOKEN: 'KV_REST_API_TOKEN',
};

/** Variables whose empty value says something (decisions 6, OBSERVATORY_URL). */
const meaningfulWhenEmpty: ReadonlySet<string> = new Set(['OBSERVATORY_URL']);

/**
 * Reads one group of variables. An empty value counts as unset, but for those that mean something.
 * Throws ConfigError with one line that names each bad variable and what it must be, never its value.
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
  // Without the code that zod would compile for a schema: this one is used once.
  const parsed = variables.safeParse(given, { jitless: true });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`);
  throw new ConfigError([...new Set(faults)].join('; '));
}
