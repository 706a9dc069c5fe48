import { channelSecrets } from '../channels/channel-secrets.ts';
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
  'EMBEDDED_DB_PASSWORD',
  'UPSTASH_REDIS_REST_TOKEN',
  'KV_REST_API_TOKEN',
  'GIT_TOKEN_PERSONAL',
  'GIT_TOKEN_PRIVATE',
  'BACKUP_NAMES_KEY',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'HEARTBEAT_URL',
] as const;

/** Variables that hold a URL with a password. */
const addressVariables = ['DATABASE_URL', 'UPSTASH_REDIS_REST_URL', 'KV_REST_API_URL'] as const;

/** Variables of other programs, which they need too, whose URL may hold a password. */
const proxyVariables = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** All variables that hold a secret. */
export const secretNames: readonly string[] = [
  ...secretVariables,
  ...addressVariables,
  'ALERT_CHANNELS',
];

/**
 * The configured secret values, for the redactor: all secret variables, passwords in URLs, both encoded and decoded,
 * and the secret parts of channel addresses.
 */
export function configuredSecrets(environment: Environment): string[] {
  const values = secretVariables.flatMap((name) => {
    const value = environment[name] ?? '';
    return [value, ...value.split(',').map((part) => part.trim())];
  });
  const passwords = [...addressVariables, ...proxyVariables].flatMap((name) =>
    passwordsOf(environment[name] ?? ''),
  );
  const channels = channelSecrets(environment.ALERT_CHANNELS ?? '');
  return [...new Set([...values, ...passwords, ...channels])].filter((value) => value !== '');
}

function passwordsOf(address: string): string[] {
  // A proxy may be written without its scheme.
  const text = address.includes('://') ? address : `http://${address}`;
  if (!URL.canParse(text)) return [];
  const { password, searchParams } = new URL(text);
  return [password, decode(password), searchParams.get('password') ?? ''];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded: for example a password with a bare %.
    return text;
  }
}
