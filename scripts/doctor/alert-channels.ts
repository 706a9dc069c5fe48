import { listChannels } from '../../lib/alerts/channels/list-channels.ts';
import { alertSendingVariables } from '../../lib/config/alerts/channels.ts';
import type { Database } from '../../lib/database/database.ts';
import { counted } from '../../lib/text/units.ts';
import { type Check, off, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

/** Checks whether the channels of alerts can be used, as far as that can be told without sending anything. */
export async function checkAlertChannels(subject: Subject, db: Database): Promise<Check> {
  const found = await withConfig(alertSendingVariables, subject, async (config) => {
    const channels = await listChannels(config, db);
    if (channels.length === 0) return off('none: nobody is told when a backup does not happen');
    const [broken] = channels.filter(({ fault }) => fault !== null);
    if (broken === undefined) return ok(counted(channels.length, 'channel'));
    return warning(`${broken.name}: ${broken.fault}`, '`npm run alerts -- list` shows each', {
      effect: 'limits',
    });
  });
  return toCheck('alert_channels', found);
}
