import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Clock } from '../../../lib/clock.ts';
import {
  type EmbeddedDatabase,
  openEmbeddedDatabase,
} from '../../../lib/database/embedded/open.ts';
import type { PortOptions } from '../../../lib/database/embedded/server.ts';
import { silentLog } from '../../support/databases.ts';
import { copyTemplate } from '../../support/embedded-template.ts';

/** An embedded database with our tables, in a directory of its own that is removed when it closes. */
export async function openTemporary(
  clock: Clock,
  listen: PortOptions | null = null,
): Promise<EmbeddedDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'embedded-'));
  await copyTemplate(inject('embeddedTemplate'), dataDir);
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
