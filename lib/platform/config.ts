import { resolve } from 'node:path';
import { z } from 'zod';
import { logLevels } from './log.ts';
import { parseNetwork } from './network.ts';

/** A variable that is missing or has a bad value. The message names the variable, never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The environment as a process has it: `process.env`, or what a test gives. */
export type Environment = Record<string, string | undefined>;

const portFault = 'must be a port number, 0 to 65535';
const port = z
  .string()
  .regex(/^\d{1,5}$/, portFault)
  .transform(Number)
  .refine((number) => number <= 65535, portFault);
const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .default(fallback ? 'true' : 'false')
    .transform((value) => value === 'true');
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);
const network = z
  .string()
  .refine((text) => parseNetwork(text) !== null, 'must be a list of IP addresses or CIDRs');
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const postgresUrl = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be a postgres:// URL',
});

/** Where the data is (decisions 2). */
export const databaseVariables = z.object({
  DATABASE_URL: postgresUrl
    .optional()
    .describe(
      'Postgres. A Neon host goes through its serverless driver, any other through `pg`. Unset: the embedded database in DATA_DIR',
    ),
  DATA_DIR: z
    .string()
    .default('.data')
    .transform((path) => resolve(path))
    .describe('embedded database, archives and generated local secrets'),
  EMBEDDED_DB_PORT: port
    .default(54329)
    .describe(
      'the embedded database also listens here on 127.0.0.1 (Postgres protocol); 0 turns it off',
    ),
});

/** Redis over REST, shared by several processes (decisions 2). */
export const redisVariables = z.object({
  UPSTASH_REDIS_REST_URL: url
    .optional()
    .describe('Redis over REST (also read as KV_REST_API_URL). Unset: in-process store'),
  UPSTASH_REDIS_REST_TOKEN: z
    .string()
    .optional()
    .describe('its token (also read as KV_REST_API_TOKEN)'),
});

/** How much is logged. */
export const logVariables = z.object({
  LOG_LEVEL: z
    .enum(logLevels, 'must be debug, info, warn or error')
    .default('info')
    .describe('least level that is written'),
});

/** Access to the HTTP surfaces and who their clients are (spec 1, Authentication and Limits). */
export const httpVariables = z.object({
  API_REQUIRE_AUTH: flag(true).describe(
    'false opens every route but /api/cron/*; a warning is logged',
  ),
  INTERNAL_SECRET: z
    .string()
    .optional()
    .describe('secret of every internal path, at least 32 characters'),
  TRUSTED_PROXIES: list
    .pipe(z.array(network))
    .default([])
    .describe('comma-separated IPs or CIDRs whose forwarded header is believed'),
  TRUST_PROXY_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
    .default('X-Forwarded-For')
    .describe('the header that a trusted proxy sets'),
});

/** The sweep of stale runs (decisions 3). */
export const sweepVariables = z.object({
  CRON_SECRET: z
    .string()
    .optional()
    .describe('bearer secret of /api/cron/*; INTERNAL_SECRET is accepted too'),
  STALE_RUN_AFTER_MINUTES: z.coerce
    .number('must be a number of minutes')
    .positive('must be a number of minutes above 0')
    .max(525_600, 'must be at most a year of minutes')
    .default(30)
    .describe('a running run without a sign of life for this long is marked failed'),
});

/** Where `npm start` listens (decisions 1). */
export const listenVariables = z.object({
  HOST: z.string().default('127.0.0.1').describe('address that `npm start` binds'),
  PORT: port.optional().describe('port that `npm start` listens on; default 8080'),
  SERVER_PORT: port.optional().describe('read when PORT is unset'),
});

/** Secrets that `npm start` makes beside INTERNAL_SECRET, for the observatory and the MCP server. */
export const madeSecretVariables = z.object({
  AUTH_USERNAME: z.string().optional().describe('a user of the observatory; made: admin'),
  AUTH_PASSWORD: z.string().optional().describe('the password of AUTH_USERNAME'),
  JWT_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe('signs access tokens, at least 32 characters'),
  CREDENTIALS_ENCRYPTION_KEY: z
    .string()
    .refine(isKey, 'must be 32 bytes, base64 or hex')
    .optional()
    .describe("encrypts users' gateway keys: 32 bytes, base64 or hex"),
  MCP_AUTH_TOKEN: z.string().optional().describe('bearer token of the MCP server'),
});

/** What the worker needs beside the database. */
export const workerVariables = z.object({
  BACKUP_ARCHIVE_PATH: z
    .string()
    .optional()
    .transform((path) => (path === undefined ? undefined : resolve(path)))
    .describe('folder of the archives; default `<DATA_DIR>/archives`'),
});

/** Every variable, by what it is about; the README's table and .env.example are made from these. */
export const variableGroups = {
  Database: databaseVariables,
  'Service API': httpVariables,
  'Stale runs': sweepVariables,
  'Local server': listenVariables,
  Worker: workerVariables,
  Redis: redisVariables,
  Logging: logVariables,
  'Observatory and MCP server': madeSecretVariables,
} as const;

/** What the service API is configured by. */
export const backupsVariables = z.object({
  ...databaseVariables.shape,
  ...redisVariables.shape,
  ...logVariables.shape,
  ...httpVariables.shape,
  ...sweepVariables.shape,
});

/** `databaseVariables` as they were read. */
export type DatabaseConfig = z.output<typeof databaseVariables>;
/** `redisVariables` as they were read. */
export type RedisConfig = z.output<typeof redisVariables>;
/** `httpVariables` as they were read. */
export type HttpConfig = z.output<typeof httpVariables>;
/** `listenVariables` as they were read. */
export type ListenConfig = z.output<typeof listenVariables>;
/** `backupsVariables` as they were read. */
export type BackupsConfig = z.output<typeof backupsVariables>;

/** Names that a platform's integration gives to a variable of ours. */
const aliases: Record<string, string> = {
  UPSTASH_REDIS_REST_URL: 'KV_REST_API_URL',
  UPSTASH_REDIS_REST_TOKEN: 'KV_REST_API_TOKEN',
};

/**
 * Reads one group of variables. An empty value counts as unset.
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
  }
  const parsed = variables.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`);
  throw new ConfigError([...new Set(faults)].join('; '));
}

/** The shortest INTERNAL_SECRET that is taken (spec 1, Authentication 5). */
export const INTERNAL_SECRET_MIN_LENGTH = 32;

/** The port to listen on: PORT, else SERVER_PORT, else 8080 (decisions 1). */
export function listenPort(config: ListenConfig): number {
  return config.PORT ?? config.SERVER_PORT ?? 8080;
}

/** Where archives are kept (decisions 2, BACKUP_ARCHIVE_PATH). */
export function archivePath(config: {
  BACKUP_ARCHIVE_PATH?: string | undefined;
  DATA_DIR: string;
}) {
  return config.BACKUP_ARCHIVE_PATH ?? resolve(config.DATA_DIR, 'archives');
}

/** Is a text 32 bytes in hex or base64, or a list of such keys, the new one first? */
function isKey(text: string): boolean {
  return text.split(',').every((key) => /^([0-9a-f]{64}|[\w+/-]{43}=?)$/i.test(key.trim()));
}
