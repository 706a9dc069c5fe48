import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { cleanText } from '../../platform/clean-text.ts';
import { AppError } from '../../platform/errors.ts';
import { createGitHostClient } from '../git-host/client.ts';
import { explainHostFault } from '../git-host/faults.ts';
import { type AppRecord, appFilePath, readApp, writeApp } from './app-file.ts';
import type { LoginCommand } from './arguments.ts';
import { type Page, type PageUrls, serveLocalPage } from './local-page.ts';
import type { LoginSession } from './session.ts';

type AppCommand = Extract<LoginCommand, { name: 'app create' }>;

const conversion = z.object({
  id: z.int(),
  slug: z.string().regex(/^[\w.-]+$/),
  client_id: z.string().regex(/^[\w.-]+$/),
  client_secret: z.string().min(1),
  pem: z.string().min(1),
  webhook_secret: z.string().nullish(),
  html_url: z.string(),
});

/**
 * `app create`: the manifest flow. A page of this machine sends the manifest with a random state to the
 * host, which sends the browser back with a code; what the code is worth is in app.json before the
 * browser is told. Returns the exit code. (spec 3, app create)
 */
export async function createApp(session: LoginSession, command: AppCommand): Promise<number> {
  const { person, folder, clock, signal, connection } = session;
  await refuseToReplace(session, command.force);
  // Before an app is made whose secrets could then not be kept.
  await session.store.rehearse();
  const over = new AbortController();
  let offered: Promise<void> = Promise.resolve();
  const app = await serveLocalPage({
    clock,
    signal,
    start: (urls) => startPage(urls, command, connection.hostUrl),
    ready: ({ start }) => {
      person.say(`Open ${person.strong(start)}`);
      const message = 'Open the page in your browser?';
      const waiting = 'Waiting for the browser to come back.';
      offered = person.offer({ message, address: start, copied: null, waiting }, over.signal);
    },
    finish: async ({ query }) => {
      const made = await convert(session, query.get('code'));
      await refuseToReplace(session, command.force);
      await writeApp(folder, made, person.say);
      const title = 'The app is made';
      const next = 'It is stored on your machine. The terminal says what to do next.';
      return { page: { status: 200, title, lines: [next] }, value: made };
    },
  }).finally(async () => {
    over.abort();
    await offered;
  });
  person.print(`Made the app ${app.slug}; it is in ${appFilePath(folder)}.`);
  person.say(`Next:
  1. Enable device flow in the app's settings: ${cleanText(app.html_url, 200)}
  2. Install it on every account to back up: ${connection.hostUrl}/apps/${app.slug}/installations/new
  3. npm run worker -- login github`);
  return 0;
}

async function refuseToReplace({ folder, person }: LoginSession, force: boolean): Promise<void> {
  if (force || (await readApp(folder, person.say)) === null) return;
  throw new AppError(
    'CONFLICT',
    `${appFilePath(folder)} is there already: use --force to replace it, its secrets are then gone`,
  );
}

function startPage(urls: PageUrls, command: AppCommand, hostUrl: string): Page {
  const { organization, appName } = command;
  const owner = organization === null ? '' : `organizations/${organization}/`;
  const action = new URL(`${hostUrl}/${owner}settings/apps/new`);
  action.searchParams.set('state', urls.state);
  const name = appName ?? `Backup Observatory ${randomBytes(4).toString('hex')}`;
  return {
    status: 200,
    title: 'Make the backup app',
    lines: [
      `${action.host} shows you the app before it is made: it reads contents and metadata of the repositories that you install it on, and nothing else.`,
    ],
    form: {
      action: action.href,
      fields: { manifest: JSON.stringify(manifest(name, hostUrl, urls.callback)) },
      button: `Continue on ${action.host}`,
    },
  };
}

/** spec 3: read-only, without a webhook, public, asks for authorization when it is installed. */
function manifest(name: string, hostUrl: string, callback: string) {
  const [redirectUrl] = callback.split('?');
  return {
    name,
    url: hostUrl,
    redirect_url: redirectUrl,
    // Where the browser goes after an installation. We ask for tokens by the device flow only.
    callback_urls: [`${hostUrl}/settings/installations`],
    public: true,
    request_oauth_on_install: true,
    default_permissions: { contents: 'read', metadata: 'read' },
    default_events: [],
  };
}

async function convert(session: LoginSession, code: string | null): Promise<AppRecord> {
  const { connection, person, signal } = session;
  if (code === null || code === '') {
    throw new AppError('UNAUTHORIZED', 'the git host sent no code: no app was made');
  }
  const client = createGitHostClient({ connection, token: async () => null, notify: person.say });
  try {
    const { data } = await client.request('POST /app-manifests/{code}/conversions', { code });
    const { webhook_secret: webhookSecret = null, ...made } = conversion.parse(data);
    return { ...made, webhook_secret: webhookSecret, host: connection.hostUrl };
  } catch (error) {
    signal.throwIfAborted();
    throw explainHostFault(error, connection.apiUrl);
  }
}
