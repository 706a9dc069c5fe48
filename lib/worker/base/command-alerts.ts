import * as z from 'zod';
import { openMailboxes } from '../../alerts/channels/mailboxes.ts';
import { openAlertChannels } from '../../alerts/channels/open-channels.ts';
import { raiseAlerts } from '../../alerts/raise-alerts.ts';
import { alertSendingVariables } from '../../config/alert-channels.ts';
import { alertRuleVariables } from '../../config/alert-rules.ts';
import { freshnessVariables } from '../../config/freshness.ts';
import { isDatabaseUnavailable } from '../../database/database.ts';
import type { CommandContext } from './command-context.ts';

/** Variables of a command that raises alerts. */
export const commandAlertVariables = z.object({
  ...alertSendingVariables.shape,
  ...alertRuleVariables.shape,
  ...freshnessVariables.shape,
});

/**
 * Raises alerts after a command that changed what the rules evaluate. A failure is reported but fails nothing, because
 * the server raises alerts too. Without the database there is nothing to evaluate.
 */
export async function raiseAfterCommand(
  { db, clock, log, display, fetch, signal }: CommandContext,
  config: z.output<typeof commandAlertVariables>,
): Promise<void> {
  // After Ctrl-C, do not wait.
  if (signal.aborted) return;
  try {
    const canRead = config.CREDENTIALS_ENCRYPTION_KEY !== undefined;
    const channels = await openAlertChannels(config, { db: canRead ? db : null, fetch, clock });
    const mailboxes = openMailboxes(config, { fetch, clock });
    await raiseAlerts({ db, clock, log, config, channels, mailboxes });
  } catch (error) {
    if (isDatabaseUnavailable(error)) return;
    log.error('alerts could not be raised', { error });
    display.line('alerts could not be raised: the server will try within 10 minutes');
  }
}
