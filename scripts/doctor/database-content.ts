import { resolve } from 'node:path';
import { type GatewayConfig, gatewayVariables } from '../../lib/config/gateway.ts';
import { type IdentityConfig, identityVariables } from '../../lib/config/identity.ts';
import type { Database } from '../../lib/database/database.ts';
import { countMissing } from '../../lib/database/migrate.ts';
import { listEncryptedGatewayKeys } from '../../lib/gateway/gateway-connections.ts';
import { readVectorSupport, type VectorSupport } from '../../lib/search/vector-storage.ts';
import { createSealing } from '../../lib/security/sealing.ts';
import { counted } from '../../lib/text/units.ts';
import { listUsers } from '../../lib/users/users.ts';
import { readMoveProgress } from '../move/progress.ts';
import { checkAlertChannels } from './alert-channels.ts';
import { type Check, type CheckFinding, failed, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

/** How many stored keys are checked. */
const MAX_KEYS = 200;
const MIGRATIONS = resolve(import.meta.dirname, '../../drizzle');

/** Checks migrations and, if all are applied, the content of the tables. */
export async function checkContent(subject: Subject, db: Database): Promise<Check[]> {
  const missing = await countMissing(db, MIGRATIONS);
  const migrations = toCheck('migrations', describeMissing(missing, subject));
  if (missing > 0) return [migrations];
  const [progress, vectors, stored, keys] = await Promise.all([
    readMoveProgress(db),
    readVectorSupport(db),
    listUsers(db),
    listEncryptedGatewayKeys(db, MAX_KEYS),
  ]);
  return [
    migrations,
    ...(progress === null ? [] : [toCheck('unfinished_move', unfinishedMove)]),
    toCheck('vectors', describeVectors(vectors)),
    toCheck(
      'users',
      await withConfig(identityVariables, subject, (config) =>
        describeUsers(config, stored.length, subject),
      ),
    ),
    await checkAlertChannels(subject, db),
    toCheck(
      'stored_keys',
      await withConfig(gatewayVariables, subject, (config) => describeStoredKeys(config, keys)),
    ),
  ];
}

function describeMissing(missing: number, { isHosted }: Subject): CheckFinding {
  if (missing === 0) return ok('all applied');
  return {
    status: isHosted ? 'failed' : 'warning',
    detail: `${missing} not applied yet`,
    effect: isHosted ? 'prevents' : 'none',
    next: isHosted
      ? 'run `npm run migrate` with this DATABASE_URL'
      : '`npm start` or `npm run migrate` applies them',
  };
}

const unfinishedMove: CheckFinding = failed(
  'a move into this database was interrupted: rows are missing',
  'stop everything that uses it, and run `npm run move` again with it as the target',
  { effect: 'limits' },
);

function describeVectors({ state, version }: VectorSupport): CheckFinding {
  switch (state) {
    case 'ready':
      return ok(`the vector extension ${version}`.trimEnd());
    case 'installable':
      return warning(
        'the vector extension is available but not installed: search uses only full text',
        'run `npm run migrate` with a role that can create extensions',
        { effect: 'prevents' },
      );
    case 'missing':
      return warning(
        'this Postgres does not have the vector extension: search uses only full text',
        'install pgvector on the database server, then run `npm run migrate`',
        { effect: 'prevents' },
      );
  }
}

function describeUsers(
  { AUTH_USERNAME, AUTH_PASSWORD }: IdentityConfig,
  stored: number,
  { makesSecrets }: Subject,
): CheckFinding {
  const hasName = AUTH_USERNAME !== undefined;
  if (hasName && AUTH_PASSWORD !== undefined) {
    return ok(`1 in the variables, ${stored} in the database`);
  }
  if (makesSecrets) return ok('`npm start` creates the user admin');
  if (hasName || AUTH_PASSWORD !== undefined) {
    return warning(
      hasName
        ? 'AUTH_USERNAME is set without AUTH_PASSWORD'
        : 'AUTH_PASSWORD is set without AUTH_USERNAME',
      'set both AUTH_USERNAME and AUTH_PASSWORD, or neither',
      { effect: 'prevents' },
    );
  }
  if (stored > 0) return ok(`${stored} in the database`);
  return warning('none: nobody can log in to the observatory', 'npm run users -- add NAME', {
    effect: 'prevents',
  });
}

/** Checks whether users' gateway keys can be decrypted with CREDENTIALS_ENCRYPTION_KEY. */
function describeStoredKeys(
  { CREDENTIALS_ENCRYPTION_KEY: encryptionKey }: GatewayConfig,
  keys: readonly { username: string; encrypted_key: string }[],
): CheckFinding {
  if (keys.length === 0) return ok('no user has a gateway key');
  const sealing = encryptionKey === undefined ? null : createSealing(encryptionKey, 'gateway key');
  const unreadable = keys.filter(
    ({ username, encrypted_key }) => (sealing?.unseal(encrypted_key, username) ?? null) === null,
  );
  if (unreadable.length === 0) return ok(counted(keys.length, 'readable gateway key'));
  return warning(
    `${unreadable.length} of ${keys.length} gateway keys were encrypted with another key`,
    'restore the old CREDENTIALS_ENCRYPTION_KEY, or let these users connect their keys again',
    { effect: 'limits' },
  );
}
