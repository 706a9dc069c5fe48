import { createHash } from 'node:crypto';
import QuickLRU from 'quick-lru';
import * as z from 'zod';
import type openapi from '../../openapi.json';
import { basePathOf } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type SendStatic, staticAnswer } from '../http/static-answer.ts';
import type { BackupsDeps } from './base/backups-deps.ts';

const common = {
  method: 'get',
  tag: 'Documentation',
  access: 'public',
} as const;

const SCRIPT_PATH = '/docs/scalar.js';

/** Without these settings the page would contact Scalar's servers. */
const start = `Scalar.createApiReference('#reference', ${JSON.stringify({
  url: 'openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
})});`;

// Relative addresses, because a proxy may publish the server below a path.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Backup Observatory API</title>
</head>
<body>
<noscript>This page needs JavaScript. As JSON: <a href="openapi.json">openapi.json</a></noscript>
<div id="reference"></div>
<script src="${SCRIPT_PATH.slice(1)}"></script>
<script>${start}</script>
</body>
</html>
`;

/** Allows only our own script, and requests to this server. Scalar adds inline styles. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(start).digest('base64')}'`,
  "style-src 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The document by base path. A process has one or two, unless a trusted proxy passes on what clients claim. */
const documents = new QuickLRU<string, SendStatic>({ maxSize: 4 });

function prepareDocument(base: string): SendStatic {
  const load = async () => {
    const { default: document } = await import('../../openapi.json', { with: { type: 'json' } });
    return JSON.stringify(base === '' ? document : below(base, document));
  };
  return staticAnswer(load, { 'Content-Type': 'application/json' });
}

const sendPage = staticAnswer(async () => page, {
  'Content-Type': 'text/html; charset=UTF-8',
  'Content-Security-Policy': contentSecurityPolicy,
});
const sendScript = staticAnswer(
  async () => (await import('../../assets/scalar.json', { with: { type: 'json' } })).default.script,
  { 'Content-Type': 'text/javascript; charset=utf-8', 'Cache-Control': 'public, max-age=86400' },
);

/** GET /openapi.json, and /docs with its script. */
export const docsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/openapi.json',
      summary: 'Get this API description as an OpenAPI 3.1 document',
      responses: {
        200: { description: 'The document.', schema: z.looseObject({ openapi: z.string() }) },
      },
    },
    (_input, _deps: BackupsDeps, c) => {
      const base = basePathOf(c);
      const send = documents.get(base) ?? prepareDocument(base);
      documents.set(base, send);
      return send(c);
    },
  ),
  endpoint(
    {
      ...common,
      path: '/docs',
      summary: 'Get this API description as a page',
      responses: { 200: { description: 'The page.', contentType: 'text/html' } },
    },
    (_input, _deps: BackupsDeps, c) => sendPage(c),
  ),
  endpoint(
    {
      ...common,
      path: SCRIPT_PATH,
      summary: 'Get the script of /docs',
      responses: { 200: { description: 'The script.', contentType: 'text/javascript' } },
    },
    (_input, _deps: BackupsDeps, c) => sendScript(c),
  ),
];

/** The document for clients of a server that is published below a path. */
function below(base: string, document: typeof openapi) {
  const moved = ({ url }: { url: string }) => ({ url: `${base}${url}`.replace(/\/$/, '') });
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    'servers' in item ? { ...item, servers: item.servers.map(moved) } : item,
  ]);
  return { ...document, servers: [{ url: base }], paths: Object.fromEntries(paths) };
}
