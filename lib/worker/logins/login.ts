import * as z from 'zod';

export const loginNames = ['github:source', 'github:destination', 'gateway:default'] as const;
export type LoginName = (typeof loginNames)[number];

export type StoreName = 'keychain' | 'file';

/** The token of a login and its refresh token, always kept in the same store. */
export const loginSecrets = z.object({
  token: z.string().min(1),
  refresh_token: z.string().nullable(),
});
export type LoginSecrets = z.output<typeof loginSecrets>;

/** A login without its secrets. Times are ISO 8601 in UTC. */
export const loginFacts = z.object({
  /** `app`: from the device flow; `token`: imported; `key`: from the model gateway. */
  kind: z.enum(['app', 'token', 'key']),
  account: z.string().nullable(),
  /** Origin of the service that the secrets may be sent to. */
  host: z.string(),
  /** The app of the login, needed to refresh it. */
  client_id: z.string().nullable(),
  /** Null: the token does not expire, or the time is unknown. */
  expires_at: z.iso.datetime().nullable(),
  refresh_expires_at: z.iso.datetime().nullable(),
});
export type LoginFacts = z.output<typeof loginFacts>;

export interface NewLogin {
  facts: LoginFacts;
  secrets: LoginSecrets;
}

/** A login that is only a token: it cannot be renewed, and its expiry is unknown. */
export function plainLogin(
  facts: Pick<LoginFacts, 'kind' | 'account' | 'host'>,
  token: string,
): NewLogin {
  const unknown = { client_id: null, expires_at: null, refresh_expires_at: null };
  return { facts: { ...facts, ...unknown }, secrets: { token, refresh_token: null } };
}

/** A login in credentials.json, with its secrets only if the file is their store. */
const storedLogin = z.discriminatedUnion('store', [
  z.looseObject({ ...loginFacts.shape, store: z.literal('keychain') }),
  z.looseObject({ ...loginFacts.shape, store: z.literal('file'), ...loginSecrets.shape }),
]);
export type StoredLogin = z.output<typeof storedLogin>;

/** The content of credentials.json. */
export const credentials = z.object({
  version: z.literal(1),
  logins: z.record(z.string(), storedLogin),
});
export type Logins = z.output<typeof credentials>['logins'];
