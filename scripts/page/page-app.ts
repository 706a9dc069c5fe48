import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { nullIfMissing } from '../../lib/files.ts';
import type { HttpEnv } from '../../lib/http/env.ts';
import { setSecurityHeaders } from '../../lib/http/security-headers.ts';
import { PAGE_HEADERS, PAGE_PATH } from '../../lib/surfaces/page.ts';

/** Serves the built page in `folder`. Paths below /app that are not files are routes of the page. */
export function createPageApp(folder: string): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.use(setSecurityHeaders);
  app.use(`${PAGE_PATH}/*`, async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value);
  });
  app.get(
    `${PAGE_PATH}/assets/*`,
    serveStatic({
      root: folder,
      rewriteRequestPath: withoutPrefix,
      onFound: (_path, c) => c.header('Cache-Control', 'public, max-age=31536000, immutable'),
    }),
    (c) => c.text('there is no such file\n', 404),
  );
  app.get(
    `${PAGE_PATH}/*`,
    serveStatic({ root: folder, rewriteRequestPath: withoutPrefix, onFound: mustRevalidate }),
    async (c) => {
      mustRevalidate('', c);
      const page = await nullIfMissing(readFile(join(folder, 'index.html'), 'utf8'));
      return page === null ? c.text(NOT_BUILT, 503) : c.html(page);
    },
  );
  app.all('*', (c) => c.text('not allowed here\n', 405, { Allow: 'GET, HEAD' }));
  return app;
}

const NOT_BUILT = 'The page is not built: run `npm ci`, then `npm start`.\n';

const withoutPrefix = (path: string) => path.slice(PAGE_PATH.length);

function mustRevalidate(_path: string, c: Context): void {
  c.header('Cache-Control', 'no-cache');
}
