import type { GatewayConfig } from './gateway.ts';
import type { Environment } from './read.ts';
import { MIN_SECRET_LENGTH } from './values.ts';

/** Variables that a feature needs, all of them. */
export const neededVariables = {
  /** Reports by mail. */
  mail: ['RESEND_API_KEY', 'SMTP_FROM', 'SMTP_TO'],
  /** Users who connect their own key of the model gateway. */
  ownGatewayKeys: ['CREDENTIALS_ENCRYPTION_KEY'],
  /** Channels of alerts that are added on the page. */
  channelsOfPage: ['CREDENTIALS_ENCRYPTION_KEY'],
  /** The MCP server over the network. */
  mcp: ['MCP_AUTH_TOKEN'],
} as const;

type Feature = keyof typeof neededVariables;
type Value = string | readonly string[] | undefined;

/** The variables that a feature lacks. An empty list counts as unset. */
export function findMissing<Name extends Feature>(
  feature: Name,
  config: { [Variable in (typeof neededVariables)[Name][number]]?: Value },
): string[] {
  const names: readonly (typeof neededVariables)[Name][number][] = neededVariables[feature];
  return names.filter((name) => (config[name] ?? '').length === 0);
}

/** Whether users without a key of their own may chat with the server's. */
export function offersServerKeys({
  GATEWAY_API_KEYS,
  GATEWAY_ALLOW_SERVER_KEYS,
}: Pick<GatewayConfig, 'GATEWAY_API_KEYS' | 'GATEWAY_ALLOW_SERVER_KEYS'>): boolean {
  return GATEWAY_API_KEYS.length > 0 && GATEWAY_ALLOW_SERVER_KEYS;
}

/** Whether MCP_AUTH_TOKEN is set, for parts that must not fail when it is too short. */
export function hasMcpToken({ MCP_AUTH_TOKEN = '' }: Environment): boolean {
  return MCP_AUTH_TOKEN.length >= MIN_SECRET_LENGTH;
}
