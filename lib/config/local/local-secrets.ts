import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, type Environment } from '../read.ts';
import { MIN_SECRET_LENGTH } from '../values.ts';

const secret = () => randomBytes(32).toString('base64url');

/** Values that the first start generates, so that it works without configuration. */
const generators: Record<string, () => string> = {
  INTERNAL_SECRET: secret,
  MCP_AUTH_TOKEN: secret,
  JWT_SECRET: secret,
  CREDENTIALS_ENCRYPTION_KEY: () => randomBytes(32).toString('base64'),
  AUTH_USERNAME: () => 'admin',
  AUTH_PASSWORD: () => randomBytes(18).toString('base64url'),
  EMBEDDED_DB_PASSWORD: secret,
};

/** Whether the feature that needs this secret is enabled. */
function isNeeded(name: string, { EMBEDDED_DB_PORT }: Environment): boolean {
  return name !== 'EMBEDDED_DB_PASSWORD' || Number(EMBEDDED_DB_PORT || 0) !== 0;
}

/** Whether it is unset, or a password of the database that an earlier version generated too short. */
function isMissing(name: string, environment: Environment, file: string): boolean {
  const value = environment[name] ?? '';
  if (name !== 'EMBEDDED_DB_PASSWORD' || value.length >= MIN_SECRET_LENGTH) return value === '';
  return value === '' || (existsSync(file) && parseEnv(readFileSync(file, 'utf8'))[name] === value);
}

/**
 * Generates each needed secret that is unset, stores it in a file that only the owner can read, and returns
 * the extended environment with the names of the generated secrets.
 */
export function makeLocalSecrets(
  environment: Environment,
  file: string,
): { environment: Environment; made: string[] } {
  const made = Object.entries(generators)
    .filter(([name]) => isNeeded(name, environment) && isMissing(name, environment, file))
    .map(([name, generate]) => [name, generate()] as const);
  if (made.length > 0) {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      appendFileSync(file, made.map(([name, value]) => `${name}=${value}\n`).join(''), {
        mode: 0o600,
      });
      chmodSync(file, 0o600);
    } catch (cause) {
      throw new ConfigError(`DATA_DIR cannot be written: ${(cause as Error).message}`, { cause });
    }
  }
  return {
    environment: { ...environment, ...Object.fromEntries(made) },
    made: made.map(([name]) => name),
  };
}
