import { findMailFault } from '../../channels/mail.ts';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import type { Database } from '../../database/database.ts';
import { readStoredChannels } from './stored-channels.ts';

/** What may be shown of a channel: nothing that would let a reader send through it. */
export interface ListedChannel {
  name: string;
  kind: string;
  /** The host, or a shortened mail address. */
  place: string;
  source: 'variable' | 'page';
  /** Why nothing can be sent through it, as far as is known; null if nothing prevents it. */
  fault: string | null;
  created_by: string | null;
  created_at: string | null;
}

/** Lists the channels of ALERT_CHANNELS, then those of the dashboard. Without a database, lists only the former. */
export async function listChannels(
  config: AlertSendingConfig,
  db: Database | null,
): Promise<ListedChannel[]> {
  const mailFault = findMailFault(config);
  const own = config.ALERT_CHANNELS.map(({ name, kind, place }) => ({
    ...{ name, kind, place, source: 'variable' as const },
    fault: kind === 'mail' ? mailFault : null,
    created_by: null,
    created_at: null,
  }));
  if (db === null) return own;
  const stored = await readStoredChannels({ db, config });
  return [
    ...own,
    ...stored.map(({ name, kind, place, fault, created_by, created_at }) => ({
      ...{ name, kind, place, source: 'page' as const },
      fault: fault ?? (kind === 'mail' ? mailFault : null),
      ...{ created_by, created_at },
    })),
  ];
}
