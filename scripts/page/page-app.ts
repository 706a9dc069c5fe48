import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Context, Handler } from 'hono';
import { Hono } from 'hono';
import type { HttpConfig } from '../../lib/config/http.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { identifyClient, readSocketConnection } from '../../lib/http/client-address.ts';
import type { Deps } from '../../lib/http/deps.ts';
import { basePathOf, type HttpEnv } from '../../lib/http/env.ts';
import { respondToError } from '../../lib/http/error-response.ts';
import { enforceRateLimit } from '../../lib/http/rate-limit.ts';
import { assignRequestId } from '../../lib/http/request-id.ts';
import { HASHED_FILE_HEADERS, PAGE_HEADERS, PAGE_PATH } from '../../lib/surfaces/page.ts';

type PageAppDeps = Pick<Deps<HttpConfig>, 'config' | 'limiter' | 'clock' | 'log'>;

/**
 * Serves the built page in `folder`. Paths below /app that are not files are routes of the page. Requests are counted by
 * address.
 */
export function createPageApp(folder: string, deps: PageAppDeps): Hono<HttpEnv> {
  const { config, limiter, clock, log } = deps;
  const app = new Hono<HttpEnv>();
  app.onError((error, c) => respondToError(error, c, log));
  app.use(assignRequestId, identifyClient(config, readSocketConnection), async (c, next) => {
    const count = await limiter.count('pageFile', c.get('clientAddress'));
    // Otherwise as the platform serves them, without the headers of the limit.
    if (count.allowed) await next();
    else await enforceRateLimit(c, next, count, clock);
  });
  app.use(async (c, next) => {
    setHeaders(c, PAGE_HEADERS);
    await next();
  });
  app.get(
    `${PAGE_PATH}/assets/*`,
    serveStatic({
      root: folder,
      rewriteRequestPath: withoutPrefix,
      precompressed: true,
      onFound: (_path, c) => setHeaders(c, HASHED_FILE_HEADERS),
    }),
    (c) => c.text('there is no such file\n', 404),
  );
  const openPage: Handler<HttpEnv> = async (c) => {
    const page = await nullIfMissing(readFile(join(folder, 'index.html'), 'utf8'));
    return page === null ? c.text(NOT_BUILT, 503) : c.html(movePage(page, basePathOf(c)));
  };
  app.get(`${PAGE_PATH}/`, openPage);
  app.get(`${PAGE_PATH}/index.html`, openPage);
  app.get(
    `${PAGE_PATH}/*`,
    serveStatic({ root: folder, rewriteRequestPath: withoutPrefix }),
    openPage,
  );
  app.all('*', (c) => c.text('not allowed here\n', 405, { Allow: 'GET, HEAD' }));
  return app;
}

const NOT_BUILT = 'The page is not built: run `npm ci`, then `npm start`.\n';

/** Moves all addresses of the page below a path. Its scripts address each other relatively, and read theirs from it. */
function movePage(html: string, basePath: string): string {
  return html.replaceAll(`"${PAGE_PATH}/`, `"${basePath}${PAGE_PATH}/`);
}

const withoutPrefix = (path: string) => path.slice(PAGE_PATH.length);

function setHeaders(c: Context, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}
