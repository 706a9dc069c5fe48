import { z } from 'zod';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import type { BackupsHandles } from './handles.ts';
import { sendJson } from './json.ts';

const common = { method: 'get', tag: 'Documentation', access: 'public' } as const;

/** GET /openapi.json and /docs. */
export const docsEndpoints: readonly Endpoint<BackupsHandles>[] = [
  endpoint(
    {
      ...common,
      path: '/openapi.json',
      summary: 'Read this description as an OpenAPI 3.1 document',
      responses: () => ({
        200: { description: 'The document.', schema: z.looseObject({ openapi: z.string() }) },
      }),
    },
    async (_input, { documents }: BackupsHandles, c) => sendJson(c, await documents.openApi()),
  ),
  endpoint(
    {
      ...common,
      path: '/docs',
      summary: 'Read this description as a page',
      responses: () => ({ 200: { description: 'The page.', contentType: 'text/html' } }),
    },
    async (_input, { documents }: BackupsHandles, c) => {
      const { html, contentSecurityPolicy } = await documents.page();
      return c.html(html, 200, { 'Content-Security-Policy': contentSecurityPolicy });
    },
  ),
];
