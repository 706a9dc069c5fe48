import type { Environment } from '../config/read.ts';

/** A token for the git host, and the only address to send it to. */
export interface GitCredential {
  /** The repository's https address (http to loopback). */
  location: string;
  token: string;
}

/**
 * Environment variables that make git send a token as a header to one address only, and never after a redirect.
 * The token does not appear in arguments, in the remote's URL or in a configuration file. Configuration
 * already in `environment` is kept, except for credentials of that address.
 */
export function credentialSettings(
  environment: Environment,
  { location, token }: GitCredential,
): Environment {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  const settings: [string, string][] = [
    // Overrides the user's own insteadOf rewrites, which would bypass the header: the longest match wins.
    [`url.${location}.insteadOf`, location],
    [`url.${location}.pushInsteadOf`, location],
    // Empty values reset inherited configuration: other headers and credential helpers.
    [`http.${location}.extraHeader`, ''],
    [`http.${location}.extraHeader`, `Authorization: Basic ${basic}`],
    [`http.${location}.followRedirects`, 'false'],
    ['credential.helper', ''],
    [`credential.${location}.helper`, ''],
  ];
  return gitSettings(environment, settings);
}

/** Variables that set git's configuration for a process, in addition to what the environment sets already. */
export function gitSettings(
  environment: Environment,
  settings: readonly (readonly [string, string])[],
): Record<string, string> {
  const given = Number(environment.GIT_CONFIG_COUNT ?? 0) || 0;
  const added = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${given + index}`, key],
    [`GIT_CONFIG_VALUE_${given + index}`, value],
  ]);
  return {
    ...Object.fromEntries(added),
    GIT_CONFIG_COUNT: String(given + settings.length),
  };
}
