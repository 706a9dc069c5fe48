import { listChannels } from '../../lib/alerts/channels/list-channels.ts';
import {
  type FailingChannel,
  listFailingChannels,
} from '../../lib/alerts/deliveries/failing-channels.ts';
import { alertSendingVariables } from '../../lib/config/alert-channels.ts';
import type { Database } from '../../lib/database/database.ts';
import { cleanText } from '../../lib/text/clean-text.ts';
import { formatMinute } from '../../lib/text/format-minute.ts';
import { counted } from '../../lib/text/units.ts';
import { joinFirst } from './join-first.ts';
import { type Check, off, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

/**
 * Checks whether the alert channels look usable, without sending anything, and whether the last message of each
 * arrived.
 */
export async function checkAlertChannels(subject: Subject, db: Database): Promise<Check> {
  const found = await withConfig(alertSendingVariables, subject, async (config) => {
    const channels = await listChannels(config, db);
    if (channels.length === 0) return off('none: nobody is alerted when backups fail');
    const broken = channels.flatMap(({ name, fault }) =>
      fault === null ? [] : [`${name}: ${fault}`],
    );
    const usable = channels.filter(({ fault }) => fault === null).map(({ name }) => name);
    const failing = await listFailingChannels(db, usable);
    if (broken.length + failing.length === 0) return ok(counted(channels.length, 'channel'));
    return warning(
      joinFirst([...broken, ...failing.map(describeFailing)]),
      broken.length > 0
        ? '`npm run alerts -- list` shows them'
        : '`npm run alerts -- test` tests them',
      { effect: 'limits' },
    );
  });
  return toCheck('alert_channels', found);
}

function describeFailing({
  channel,
  incident,
  created_at,
  is_given_up,
  reason,
}: FailingChannel): string {
  const what = `the message from ${formatMinute(created_at)} about incident ${incident}`;
  const how = is_given_up ? 'did not arrive' : 'has not arrived yet';
  return `${cleanText(channel, 100)}: ${what} ${how}: ${cleanText(reason, 300)}`;
}
