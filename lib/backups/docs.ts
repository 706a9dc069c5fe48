import { z } from 'zod';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import type { BackupsHandles } from './handles.ts';

const common = { method: 'get', tag: 'Documentation', access: 'public' } as const;

/** GET /openapi.json and /docs. */
export const docsEndpoints: readonly Endpoint<BackupsHandles>[] = [
  endpoint(
    {
      ...common,
      path: '/openapi.json',
      summary: 'Read this description as an OpenAPI 3.1 document',
      responses: {
        200: { description: 'The document.', schema: z.looseObject({ openapi: z.string() }) },
      },
    },
    async (_input, { document }: BackupsHandles, c) => c.json(await document()),
  ),
  endpoint(
    {
      ...common,
      path: '/docs',
      summary: 'Read this description as a page',
      responses: { 200: { description: 'The page.', contentType: 'text/html' } },
    },
    async (_input, { document }: BackupsHandles, c) => {
      // Loaded when it is first asked for: a cold start does not wait for it.
      const { docsContentSecurityPolicy, renderDocs } = await import('./docs-page.ts');
      c.header('Content-Security-Policy', docsContentSecurityPolicy);
      return c.html(renderDocs(await document()));
    },
  ),
];
