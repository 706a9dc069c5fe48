import { openAlertChannels } from '../../lib/alerts/channels/open-channels.ts';
import type { AlertChannel, AlertMessage } from '../../lib/channels/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import { alertSendingVariables } from '../../lib/config/alert-channels.ts';
import { type Environment, readConfig } from '../../lib/config/read.ts';
import { createTestClock } from './clock.ts';
import type { ScriptedServer } from './scripted-server.ts';

/** The secret of test webhooks, and the tokens that test addresses contain. */
export const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const SECRETS = [
  'SlackTokenOfTests0123456',
  'DiscordTokenOfTests-0123456789',
  '123456789:TelegramTokenOfTests_0123456',
  'tk_ntfyTokenOfTests',
  'GotifyTokenOfTests',
  'apprise-key-of-tests',
  'path-of-the-webhook-of-tests',
  WEBHOOK_SECRET,
  'syt_MatrixTokenOfTests',
];

/** An address for each kind of channel that posts, all leading to one test server. */
export function addressesAt({ url }: Pick<ScriptedServer, 'url'>): Record<string, string> {
  const host = new URL(url).host;
  const [slack, discord, telegram, ntfy, gotify, apprise, webhook, , matrix] = SECRETS;
  return {
    slack: `slack+http://${host}/services/T000/B000/${slack}`,
    discord: `discord+http://${host}/api/webhooks/112233445566/${discord}`,
    telegram: `tgram+http://${host}/bot${telegram}/-100200300?topic=7`,
    ntfy: `ntfy+http://${ntfy}@${host}/backups`,
    gotify: `gotify+http://${host}/base/${gotify}`,
    apprise: `apprise+http://${host}/${apprise}?tag=ops`,
    matrix: `matrix+http://${matrix}@${host}/base/!roomOfTests:example.com`,
    webhook: `webhook+http://${host}/hooks/${webhook}?to=ops#${WEBHOOK_SECRET}`,
  };
}

interface OpenOptions {
  environment?: Environment;
  fetch?: typeof fetch;
  /** Default: a test clock, which stands still. */
  clock?: Clock;
}

/** Opens the channel of an address in ALERT_CHANNELS. */
export async function openChannel(
  address: string,
  { environment = {}, fetch = globalThis.fetch, clock = createTestClock() }: OpenOptions = {},
): Promise<AlertChannel> {
  const variables = { ...environment, ALERT_CHANNELS: address };
  const config = readConfig(alertSendingVariables, variables);
  const [channel] = await openAlertChannels(config, { db: null, fetch, clock });
  if (!channel) throw new Error('no channel was opened');
  return channel;
}

/** A `fetch` that reaches a test server under every name. */
export function leadTo({ url }: Pick<ScriptedServer, 'url'>): typeof fetch {
  return (input, init) => {
    const { pathname, search } = new URL(String(input));
    return fetch(`${url}${pathname}${search}`, init);
  };
}

/** A message about an incident. */
export function makeMessage(changes: Partial<AlertMessage> = {}): AlertMessage {
  return {
    id: 'incident-7-opened',
    kind: 'opened',
    severity: 'critical',
    title: '2 repositories are failing',
    lines: ['acme/app: authentication failed', 'acme/web: not found'],
    link: 'https://backups.example.com/app/incidents/7?a=1&b=2',
    at: new Date('2026-03-04T05:06:07Z'),
    ...changes,
  };
}

/** A signal that has not aborted. */
export const patient = new AbortController().signal;
