import type { Environment } from './config/read.ts';

/** A token of the git host and the one address that it is sent to. */
export interface GitCredential {
  /** The repository's https address (http to loopback). */
  location: string;
  token: string;
}

/**
 * The variables by which git sends a token as a header to one address and nowhere else: not in its
 * arguments, the remote's address or a configuration file, and not along a redirect (spec 3, HTTPS
 * destination). What `environment` configures already stays, but for credentials of that address.
 */
export function credentialSettings(
  environment: Environment,
  { location, token }: GitCredential,
): Environment {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  const settings = [
    // A person's own rewriting of addresses (insteadOf) would lead past the header; the longest wins.
    [`url.${location}.insteadOf`, location],
    [`url.${location}.pushInsteadOf`, location],
    // Empty values take back what other configuration adds: a second header, another's credentials.
    [`http.${location}.extraHeader`, ''],
    [`http.${location}.extraHeader`, `Authorization: Basic ${basic}`],
    [`http.${location}.followRedirects`, 'false'],
    ['credential.helper', ''],
    [`credential.${location}.helper`, ''],
  ];
  const given = Number(environment.GIT_CONFIG_COUNT ?? 0) || 0;
  const added = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${given + index}`, key],
    [`GIT_CONFIG_VALUE_${given + index}`, value],
  ]);
  return {
    ...Object.fromEntries(added),
    GIT_CONFIG_COUNT: String(given + settings.length),
    GIT_ASKPASS: '',
  };
}
