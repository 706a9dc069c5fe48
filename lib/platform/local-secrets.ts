import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError, type Environment } from './config/read.ts';

const secret = () => randomBytes(32).toString('base64url');

/** Everything that a first start makes up, so that it works with nothing configured. */
const makers: Record<string, () => string> = {
  INTERNAL_SECRET: secret,
  MCP_AUTH_TOKEN: secret,
  JWT_SECRET: secret,
  CREDENTIALS_ENCRYPTION_KEY: () => randomBytes(32).toString('base64'),
  AUTH_USERNAME: () => 'admin',
  AUTH_PASSWORD: () => randomBytes(18).toString('base64url'),
};

/**
 * Writes a random value for each secret that is unset to a file that only its owner can read, and
 * returns the environment with them and the names of those that were made. (decisions 2)
 */
export function makeLocalSecrets(
  environment: Environment,
  file: string,
): { environment: Environment; made: string[] } {
  const made = Object.entries(makers)
    .filter(([name]) => !environment[name])
    .map(([name, make]) => [name, make()] as const);
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
