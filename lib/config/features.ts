import type { GatewayConfig } from './gateway.ts';
import type { Environment } from './read.ts';
import { MIN_SECRET_LENGTH } from './values.ts';

/** The variables that each feature requires. */
export const neededVariables = {
  /** Reports by mail. */
  mail: ['RESEND_API_KEY', 'SMTP_FROM', 'SMTP_TO'],
  /** Users' own model gateway keys. */
  ownGatewayKeys: ['CREDENTIALS_ENCRYPTION_KEY'],
  /** Alert channels added on the page. */
  channelsOfPage: ['CREDENTIALS_ENCRYPTION_KEY'],
  /** The MCP server over the network. */
  mcp: ['MCP_AUTH_TOKEN'],
} as const;

type Feature = keyof typeof neededVariables;
type Value = string | readonly string[] | undefined;

/** The variables that a feature lacks. An empty list counts as unset. */
export function findMissingVariables<Name extends Feature>(
  feature: Name,
  config: { [Variable in (typeof neededVariables)[Name][number]]?: Value },
): string[] {
  const names: readonly (typeof neededVariables)[Name][number][] = neededVariables[feature];
  return names.filter((name) => (config[name] ?? '').length === 0);
}

/** Whether users without their own key may chat with the server's keys. */
export function offersServerKeys({
  GATEWAY_API_KEYS,
  GATEWAY_ALLOW_SERVER_KEYS,
}: Pick<GatewayConfig, 'GATEWAY_API_KEYS' | 'GATEWAY_ALLOW_SERVER_KEYS'>): boolean {
  return GATEWAY_API_KEYS.length > 0 && GATEWAY_ALLOW_SERVER_KEYS;
}

/** Whether MCP_AUTH_TOKEN is set, for code that must not fail if it is too short. */
export function hasMcpToken({ MCP_AUTH_TOKEN = '' }: Environment): boolean {
  return MCP_AUTH_TOKEN.length >= MIN_SECRET_LENGTH;
}
