import { rm } from 'node:fs/promises';
import type { Clock } from '../../../lib/clock.ts';
import {
  type EmbeddedDatabase,
  openEmbeddedDatabase,
} from '../../../lib/database/embedded/open.ts';
import type { PortOptions } from '../../../lib/database/embedded/server.ts';
import { makeDataDir, silentLog } from '../../support/databases.ts';

/** An embedded database with our tables, in a directory of its own that is removed when it closes. */
export async function openTemporary(
  clock: Clock,
  listen: PortOptions | null = null,
): Promise<EmbeddedDatabase> {
  const dataDir = await makeDataDir('migrated');
  const db = await openEmbeddedDatabase({ dataDir, listen, log: silentLog, clock });
  let closing: Promise<void> | null = null;
  return {
    ...db,
    close() {
      closing ??= db.close().then(() => rm(dataDir, { recursive: true, force: true }));
      return closing;
    },
  };
}
