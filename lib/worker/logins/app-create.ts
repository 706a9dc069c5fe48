import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import { createGitHostClient } from '../hosts/client.ts';
import { explainHostError } from '../hosts/errors.ts';
import { type AppRecord, appFilePath, readApp, writeApp } from './app-file.ts';
import { type LocalPage, type PageUrls, serveLocalPage } from './local-page.ts';
import type { LoginCommand } from './login-commands.ts';
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
 * `app create`, the manifest flow: a local page sends the manifest with a random state to the host, which
 * sends the browser back with a code. The app is stored before the browser shows success. Returns the exit
 * code.
 */
export async function createApp(session: LoginSession, command: AppCommand): Promise<number> {
  const { person, folder, connection } = session;
  await refuseToReplace(session, command.force);
  // Fail before creating an app whose secrets could not be stored.
  await session.store.rehearse();
  const app = await serveLocalPage({
    ...session,
    start: (urls) => startPage(urls, command, connection.hostUrl),
    opened: ({ start }) => start,
    finish: async (query) => {
      const value = await convert(session, query.get('code'));
      await refuseToReplace(session, command.force);
      await writeApp(folder, value, person.say);
      const line = 'It is stored on your machine. See the terminal for the next steps.';
      return { title: 'App created', line, value };
    },
  });
  person.print(`App ${app.slug} created and stored in ${appFilePath(folder)}.`);
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
    `${appFilePath(folder)} already exists: use --force to replace it, which loses its secrets`,
  );
}

function startPage(urls: PageUrls, command: AppCommand, hostUrl: string): LocalPage {
  const { organization, appName } = command;
  const owner = organization === null ? '' : `organizations/${organization}/`;
  const action = new URL(`${hostUrl}/${owner}settings/apps/new`);
  action.searchParams.set('state', urls.state);
  const name = appName ?? `Backup Observatory ${randomBytes(4).toString('hex')}`;
  return {
    status: 200,
    title: 'Create the backup app',
    lines: [
      `${action.host} shows you the app before it is created: it can read contents and metadata of the repositories that you install it on, and nothing else.`,
    ],
    form: {
      action: action.href,
      fields: { manifest: JSON.stringify(manifest(name, hostUrl, urls.callback)) },
      button: `Continue on ${action.host}`,
    },
  };
}

/** A read-only public app without a webhook that asks for authorization when it is installed. */
function manifest(name: string, hostUrl: string, callback: string) {
  const [redirectUrl] = callback.split('?');
  return {
    name,
    url: hostUrl,
    redirect_url: redirectUrl,
    // Where the browser goes after an installation. Tokens only come from the device flow.
    callback_urls: [`${hostUrl}/settings/installations`],
    public: true,
    request_oauth_on_install: true,
    default_permissions: { contents: 'read', metadata: 'read' },
    default_events: [],
  };
}

async function convert(session: LoginSession, code: string | null): Promise<AppRecord> {
  const { connection, person, signal } = session;
  if (!code) throw new AppError('UNAUTHORIZED', 'the git host sent no code: no app was created');
  const client = createGitHostClient({ connection, token: async () => null, notify: person.say });
  try {
    const { data } = await client.request('POST /app-manifests/{code}/conversions', { code });
    const { webhook_secret: webhookSecret = null, ...created } = conversion.parse(data);
    return { ...created, webhook_secret: webhookSecret, host: connection.hostUrl };
  } catch (error) {
    signal.throwIfAborted();
    throw explainHostError(error, connection.apiUrl);
  }
}
