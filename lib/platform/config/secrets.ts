import type { Environment } from './read.ts';

/** Variables whose whole value is a secret, or a comma-separated list of secrets. */
const secretVariables = [
  'INTERNAL_SECRET',
  'MCP_AUTH_TOKEN',
  'CRON_SECRET',
  'JWT_SECRET',
  'AUTH_PASSWORD',
  'CREDENTIALS_ENCRYPTION_KEY',
  'GATEWAY_API_KEYS',
  'RESEND_API_KEY',
  'SMTP_PASSWORD',
  'UPSTASH_REDIS_REST_TOKEN',
  'KV_REST_API_TOKEN',
  'GIT_TOKEN_PERSONAL',
  'GIT_TOKEN_PRIVATE',
] as const;

/** Variables that hold an address with a password. */
const addressVariables = ['DATABASE_URL', 'UPSTASH_REDIS_REST_URL', 'KV_REST_API_URL'] as const;

/** Every variable that holds a secret, for what must not hand it on. */
export const secretNames: readonly string[] = [...secretVariables, ...addressVariables];

/**
 * The secret values that a process is configured with, for its redactor: every variable that holds one
 * and the passwords of its addresses, as they are written and decoded. (spec 3, Authentication)
 */
export function configuredSecrets(environment: Environment): string[] {
  const values = secretVariables.flatMap((name) => {
    const value = environment[name] ?? '';
    return [value, ...value.split(',').map((part) => part.trim())];
  });
  const passwords = addressVariables.flatMap((name) => passwordsOf(environment[name] ?? ''));
  return [...new Set([...values, ...passwords])].filter((value) => value !== '');
}

function passwordsOf(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const { password, searchParams } = new URL(address);
  return [password, decode(password), searchParams.get('password') ?? ''];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded, as in a password that holds a bare %: it is looked for as it is written.
    return text;
  }
}
