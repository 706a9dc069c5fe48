import { z } from 'zod';
import { storeVariables } from '../../lib/config/stores.ts';
import { workerVariables } from '../../lib/config/worker.ts';
import { type Check, failed, off, ok, toCheck } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const heartbeatVariables = z.object({ HEARTBEAT_URL: workerVariables.shape.HEARTBEAT_URL });

/** Checks where archives are stored besides this machine. Contacts no store: `npm run worker -- store check` does. */
export async function examineStores(subject: Subject): Promise<Check> {
  const found = await withConfig(storeVariables, subject, (config) => {
    const { BACKUP_STORES: stores, BACKUP_STORES_NEEDED: needed } = config;
    const { BACKUP_AGE_RECIPIENTS: recipients, BACKUP_NAMES_KEY: namesKey } = config;
    if (stores.length === 0) {
      return off('none: archives are kept on this machine, and in BACKUP_REPO_PATH if it is set');
    }
    if (recipients.length > 0 && namesKey === undefined) {
      return failed(
        'BACKUP_AGE_RECIPIENTS is set without BACKUP_NAMES_KEY: no run starts',
        'set BACKUP_NAMES_KEY: openssl rand -hex 32',
      );
    }
    const names = stores.map(({ text }) => text).join(', ');
    const how = recipients.length > 0 ? 'encrypted' : 'not encrypted';
    return ok(`${names}; ${needed === undefined ? '' : `${needed} must have a version; `}${how}`);
  });
  return toCheck('stores', found);
}

/** Checks whether a heartbeat address is set. The address is a secret, and nothing is sent to it. */
export async function checkHeartbeat(subject: Subject): Promise<Check> {
  const found = await withConfig(heartbeatVariables, subject, ({ HEARTBEAT_URL: address }) =>
    address === undefined
      ? off(
          'HEARTBEAT_URL is not set: nobody is alerted if the server and the worker are both down',
        )
      : ok('set'),
  );
  return toCheck('heartbeat', found);
}
