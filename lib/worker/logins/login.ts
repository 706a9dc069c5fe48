import { z } from 'zod';

/** The logins that there are (spec 3, Worker login commands). */
export const loginNames = ['github:source', 'github:destination', 'gateway:default'] as const;
export type LoginName = (typeof loginNames)[number];

export type StoreName = 'keychain' | 'file';

/** What the token of a login is, and what renews it. Both null-free parts stay together in one store. */
export const loginSecrets = z.object({
  token: z.string().min(1),
  refresh_token: z.string().nullable(),
});
export type LoginSecrets = z.output<typeof loginSecrets>;

/** What is known of a login beside its secrets; times are ISO 8601 in UTC. */
export const loginFacts = z.object({
  /** `app`: of the device flow; `token`: imported; `key`: of the model gateway. */
  kind: z.enum(['app', 'token', 'key']),
  account: z.string().nullable(),
  /** Origin of the service that the secrets may be sent to. */
  host: z.string(),
  /** The app that the login belongs to; its refreshes name it. */
  client_id: z.string().nullable(),
  /** Null: the token does not expire, or nobody said when. */
  expires_at: z.iso.datetime().nullable(),
  refresh_expires_at: z.iso.datetime().nullable(),
});
export type LoginFacts = z.output<typeof loginFacts>;

/** A login as credentials.json has it: secrets only where the file itself is the store (decisions 7). */
export const storedLogin = z.discriminatedUnion('store', [
  z.looseObject({ ...loginFacts.shape, store: z.literal('keychain') }),
  z.looseObject({ ...loginFacts.shape, store: z.literal('file'), ...loginSecrets.shape }),
]);
export type StoredLogin = z.output<typeof storedLogin>;

/** credentials.json (decisions 7). */
export const credentials = z.object({
  version: z.literal(1),
  logins: z.record(z.string(), storedLogin),
});
export type Logins = z.output<typeof credentials>['logins'];
