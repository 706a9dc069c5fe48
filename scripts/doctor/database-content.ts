import { resolve } from 'node:path';
import { createSealing } from '../../lib/gateway/sealing.ts';
import { type GatewayConfig, gatewayVariables } from '../../lib/platform/config/gateway.ts';
import { type IdentityConfig, identityVariables } from '../../lib/platform/config/identity.ts';
import type { Database } from '../../lib/platform/database/database.ts';
import { countMissing } from '../../lib/platform/database/migrate.ts';
import { listEncryptedGatewayKeys } from '../../lib/records/gateway-connections.ts';
import { readProgress } from '../../lib/records/moving/progress.ts';
import { listUsers } from '../../lib/records/users.ts';
import { readVectorSupport, type VectorSupport } from '../../lib/search/vector-storage.ts';
import { type Check, type Finding, named } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

/** Stored keys that are tried. */
const MOST_KEYS = 200;
const MIGRATIONS = resolve(import.meta.dirname, '../../drizzle');

/** The tables, and what can be looked at once all of them are there. */
export async function lookAtContent(subject: Subject, db: Database): Promise<Check[]> {
  const missing = await countMissing(db, MIGRATIONS);
  const migrations = named('migrations', describeMissing(missing, subject));
  if (missing > 0) return [migrations];
  const [progress, vectors, stored, keys] = await Promise.all([
    readProgress(db),
    readVectorSupport(db),
    listUsers(db),
    listEncryptedGatewayKeys(db, MOST_KEYS),
  ]);
  return [
    migrations,
    ...(progress === null ? [] : [named('unfinished_move', unfinishedMove)]),
    named('vectors', describeVectors(vectors)),
    named(
      'users',
      await withConfig(identityVariables, subject, (config) =>
        describeUsers(config, stored.length, subject),
      ),
    ),
    named(
      'stored_keys',
      await withConfig(gatewayVariables, subject, (config) => describeStoredKeys(config, keys)),
    ),
  ];
}

function describeMissing(missing: number, { isHosted }: Subject): Finding {
  if (missing === 0) return { status: 'ok', detail: 'all applied' };
  return {
    status: isHosted ? 'failed' : 'warning',
    detail: `${missing} not applied yet`,
    effect: isHosted ? 'prevents' : 'none',
    next: isHosted
      ? 'run `npm run migrate` with this DATABASE_URL'
      : '`npm start` applies them; so does `npm run migrate`',
  };
}

const unfinishedMove: Finding = {
  status: 'failed',
  effect: 'limits',
  detail: 'a move into this database was interrupted: not all rows are here',
  next: 'stop what uses it, and run `npm run move` again with it as the target',
};

function describeVectors({ state, version }: VectorSupport): Finding {
  switch (state) {
    case 'ready':
      return { status: 'ok', detail: `the vector extension ${version}`.trimEnd() };
    case 'installable':
      return {
        status: 'warning',
        effect: 'prevents',
        detail: 'the vector extension is on the database server and not in use: full text alone',
        next: 'run `npm run migrate` with a role that may create extensions',
      };
    case 'missing':
      return {
        status: 'warning',
        effect: 'prevents',
        detail: 'this Postgres does not have the vector extension: full text alone',
        next: 'install pgvector on the database server, then run `npm run migrate`',
      };
  }
}

function describeUsers(
  { AUTH_USERNAME, AUTH_PASSWORD }: IdentityConfig,
  stored: number,
  { makesSecrets }: Subject,
): Finding {
  const hasName = AUTH_USERNAME !== undefined;
  if (hasName && AUTH_PASSWORD !== undefined) {
    return { status: 'ok', detail: `1 in the variables, ${stored} in the database` };
  }
  if (makesSecrets) return { status: 'ok', detail: '`npm start` makes the user admin' };
  if (hasName || AUTH_PASSWORD !== undefined) {
    return {
      status: 'warning',
      effect: 'prevents',
      detail: `${hasName ? 'AUTH_USERNAME' : 'AUTH_PASSWORD'} is set without its other half`,
      next: 'set AUTH_USERNAME and AUTH_PASSWORD, or neither',
    };
  }
  if (stored > 0) return { status: 'ok', detail: `${stored} in the database` };
  return {
    status: 'warning',
    effect: 'prevents',
    detail: 'there is none: nobody can log in to the observatory',
    next: 'npm run users -- add NAME',
  };
}

/** Can users' gateway keys still be read? Not after CREDENTIALS_ENCRYPTION_KEY was lost. */
function describeStoredKeys(
  { CREDENTIALS_ENCRYPTION_KEY: encryptionKey }: GatewayConfig,
  keys: readonly { username: string; encrypted_key: string }[],
): Finding {
  if (keys.length === 0) return { status: 'ok', detail: 'no user has a gateway key here' };
  const sealing = encryptionKey === undefined ? null : createSealing(encryptionKey);
  const unreadable = keys.filter(
    ({ username, encrypted_key }) => (sealing?.unseal(encrypted_key, username) ?? null) === null,
  );
  if (unreadable.length === 0) {
    return { status: 'ok', detail: `gateway keys that can be read: ${keys.length}` };
  }
  return {
    status: 'warning',
    effect: 'limits',
    detail: `${unreadable.length} of ${keys.length} gateway keys were encrypted with another key`,
    next: 'set CREDENTIALS_ENCRYPTION_KEY to what it was; else these users connect theirs again',
  };
}
