import { onOwnBehalf } from '../caller.ts';
import { offersServerKeys } from '../config/features.ts';
import type { GatewayConfig } from '../config/gateway.ts';
import { AppError } from '../errors.ts';
import type { Deps } from '../http/deps.ts';
import { createSealing, type Sealing } from '../security/sealing.ts';
import {
  findGatewayConnection,
  type GatewayConnection,
  markGatewayKeyInvalid,
  noteGatewayKeyUse,
  removeGatewayConnection,
  replaceEncryptedGatewayKey,
  storeGatewayConnection,
} from './gateway-connections.ts';
import {
  createServerKeyRing,
  createUserKeyRing,
  gatewayNotConfigured,
  type KeyRing,
  keyInvalid,
} from './keys.ts';

/** A user's gateway connection, as the API returns it. */
export interface ConnectionStatus {
  connected: boolean;
  source: 'user' | 'server' | 'none';
  key_hint: string | null;
  connected_at: string | null;
  last_used_at: string | null;
  invalid: boolean;
}

/**
 * Users' own gateway keys and the server's pool. Methods throw SERVICE_UNAVAILABLE without the database
 * and CREDENTIAL_STORAGE_UNAVAILABLE without CREDENTIALS_ENCRYPTION_KEY or the table.
 */
export interface GatewayCredentials {
  /** Throws when keys cannot be stored. Call before exchanging a code, which works only once. */
  requireStorage(username: string): Promise<void>;
  connect(username: string, key: string): Promise<ConnectionStatus>;
  disconnect(username: string): Promise<ConnectionStatus>;
  readStatus(username: string): Promise<ConnectionStatus>;
  /**
   * The keys for a user's requests: the user's own key if connected, otherwise the server's. A null username
   * gets the server's. Throws GATEWAY_KEY_INVALID or GATEWAY_NOT_CONFIGURED.
   */
  resolveKeys(username: string | null): Promise<KeyRing>;
}

type CredentialDeps = Pick<Deps<GatewayConfig>, 'config' | 'db' | 'log' | 'waitUntil'>;

/** Creates the credentials of one process. Keys are only decrypted for the request that uses them. */
export function createGatewayCredentials(deps: CredentialDeps): GatewayCredentials {
  const { config, db, log, waitUntil } = deps;
  const sealing =
    config.CREDENTIALS_ENCRYPTION_KEY === undefined
      ? null
      : createSealing(config.CREDENTIALS_ENCRYPTION_KEY, 'gateway key');
  const serverKeys = createServerKeyRing(config.GATEWAY_API_KEYS);
  const hasServerKeys = config.GATEWAY_API_KEYS.length > 0;

  const find = (username: string) => orStorageError(findGatewayConnection(db, username));

  function describe(connection: GatewayConnection | null): ConnectionStatus {
    if (connection === null) {
      const source = offersServerKeys(config) ? 'server' : 'none';
      const none = { key_hint: null, connected_at: null, last_used_at: null, invalid: false };
      return { connected: false, source, ...none };
    }
    const { encrypted_key: _, ...rest } = connection;
    return { connected: true, source: 'user', ...rest };
  }

  /** Runs work whose failure must not fail the request, and which goes on if its client disconnects. */
  function inBackground(what: string, work: () => Promise<void>): void {
    waitUntil(
      onOwnBehalf(work).catch((error: unknown) => log.warn(`${what} was not stored`, { error })),
    );
  }

  function openUserKeys(username: string, connection: GatewayConnection): KeyRing {
    if (connection.invalid) throw keyInvalid();
    const { encrypted_key: stored, connected_at: connectedAt } = connection;
    const opened = requireSealing(sealing).unseal(stored, username);
    if (opened === null) throw unreadableKey(username, deps);
    if (!opened.isCurrent) {
      const to = requireSealing(sealing).seal(opened.text, username);
      inBackground('a gateway key under its new encryption', () =>
        replaceEncryptedGatewayKey(db, username, { from: stored, to }),
      );
    }
    return createUserKeyRing(opened.text, {
      used: () =>
        inBackground('the use of a key', () => noteGatewayKeyUse(db, username, connectedAt)),
      refused: async () => {
        try {
          await onOwnBehalf(() => markGatewayKeyInvalid(db, username, connectedAt));
        } catch (error) {
          log.error('an invalid gateway key was not marked', { username, error });
        }
      },
    });
  }

  return {
    async requireStorage(username) {
      requireSealing(sealing);
      await find(username);
    },
    async connect(username, key) {
      const encryptedKey = requireSealing(sealing).seal(key, username);
      const connection = { encryptedKey, keyHint: hintOf(key) };
      return describe(await orStorageError(storeGatewayConnection(db, username, connection)));
    },
    async disconnect(username) {
      requireSealing(sealing);
      await orStorageError(removeGatewayConnection(db, username));
      return describe(null);
    },
    async readStatus(username) {
      requireSealing(sealing);
      return describe(await find(username));
    },
    async resolveKeys(username) {
      const connection = username === null ? null : await find(username);
      if (username !== null && connection !== null) return openUserKeys(username, connection);
      const mayUseServerKeys = username === null || config.GATEWAY_ALLOW_SERVER_KEYS;
      if (!hasServerKeys || !mayUseServerKeys) throw gatewayNotConfigured();
      return serverKeys;
    },
  };
}

/** The last characters of a key, if it is long enough that they reveal little. */
function hintOf(key: string): string {
  return `…${key.length >= 20 ? key.slice(-4) : ''}`;
}

function requireSealing(sealing: Sealing | null): Sealing {
  if (sealing === null) throw storageUnavailable('CREDENTIALS_ENCRYPTION_KEY is not set');
  return sealing;
}

function unreadableKey(username: string, { log }: CredentialDeps): AppError {
  log.error(
    'a stored gateway key cannot be decrypted: is CREDENTIALS_ENCRYPTION_KEY the right one?',
    {
      username,
    },
  );
  return storageUnavailable('your stored key cannot be read: connect it again');
}

/** SQLSTATEs of a missing table or column: the database was not migrated. */
const missingRelation = new Set(['42P01', '42703']);

async function orStorageError<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (cause) {
    if (!missingRelation.has((cause as { code?: string }).code ?? '')) throw cause;
    throw storageUnavailable('the database lacks the table of gateway keys', cause);
  }
}

function storageUnavailable(message: string, cause?: unknown): AppError {
  return new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', message, { cause });
}
