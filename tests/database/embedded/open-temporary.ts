import type { Clock } from '../../../lib/clock.ts';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import type { PortOptions } from '../../../lib/database/embedded/server.ts';
import { createEmbedded } from '../../support/databases.ts';

/** An embedded database with our tables, in its own directory, which is removed when it closes. */
export async function openTemporary(
  clock: Clock,
  listen: PortOptions | null = null,
  limits: { maxWaitMs?: number } = {},
): Promise<EmbeddedDatabase> {
  const { db, close } = await createEmbedded({ clock, listen, ...limits });
  let closing: Promise<void> | null = null;
  return {
    ...db,
    close() {
      closing ??= close();
      return closing;
    },
  };
}
