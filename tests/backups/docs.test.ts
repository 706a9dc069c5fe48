import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import type { Route } from '../../lib/http/route.ts';
import { allRoutes, createDocument } from '../../scripts/build/openapi.ts';
import { createClient } from '../support/client.ts';

const routes = backupsEndpoints.map(({ route }) => route);
const document = createDocument(allRoutes);
const operationOf = ({ method, path }: Route) =>
  document.paths?.[path.replace(/:(\w+)/g, '{$1}')]?.[method];

describe('GET /openapi.json', () => {
  it('is the public OpenAPI 3.1 document of every surface', async () => {
    const { status, body } = await createClient().get('/openapi.json', {});
    expect(status).toBe(200);
    expect(body).toMatchObject({ openapi: '3.1.1', info: { title: 'Backup Observatory' } });
    expect(body).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'describes the input, the responses and the access of %s',
    (_name, route) => {
      const operation = operationOf(route);
      const statuses = Object.keys(operation?.responses ?? {});
      expect(statuses).toEqual(expect.arrayContaining(Object.keys(route.responses)));
      expect(statuses).toContain('500');
      expect(statuses.includes('401')).toBe(route.access !== 'public');
      expect(statuses.includes('400')).toBe(Boolean(route.params ?? route.query ?? route.body));
      const isProbe = /^\/(?:observatory\/ready|healthz?|readyz?)$/.test(route.path);
      expect(statuses.includes('429')).toBe(!isProbe);
      expect(operation?.security).toHaveLength(
        { public: 0, reader: 4, identified: 4, administrator: 4 }[route.access as string] ?? 2,
      );
    },
  );

  it('gives parameters their type, default and limits', () => {
    const list = document.paths?.['/api/logs']?.get?.parameters;
    expect(list).toEqual([
      {
        in: 'query',
        name: 'page',
        description: expect.any(String),
        schema: expect.objectContaining({ type: 'integer', default: 1, minimum: 1 }),
      },
      {
        in: 'query',
        name: 'limit',
        description: expect.any(String),
        schema: expect.objectContaining({ type: 'integer', default: 50, minimum: 1, maximum: 500 }),
      },
      {
        in: 'query',
        name: 'level',
        description: expect.any(String),
        schema: expect.objectContaining({ enum: ['info', 'warn', 'error', 'debug'] }),
      },
      {
        in: 'query',
        name: 'run_id',
        description: expect.any(String),
        schema: expect.objectContaining({ type: 'integer' }),
      },
      ...['repository', 'from', 'to', 'text'].map((name) =>
        expect.objectContaining({
          in: 'query',
          name,
          schema: expect.objectContaining({ type: 'string' }),
        }),
      ),
      {
        in: 'query',
        name: 'before_id',
        description: expect.any(String),
        schema: expect.objectContaining({ type: 'integer' }),
      },
    ]);
  });

  it('describes errors with the schema of their body', () => {
    const responses = document.paths?.['/api/backups/{id}']?.get?.responses;
    const schema = (name: string) => ({
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
    });
    expect(responses).toMatchObject({
      400: schema('Error'),
      401: schema('ErrorEnvelope'),
      404: schema('Error'),
      429: schema('ErrorEnvelope'),
      500: schema('ErrorEnvelope'),
      503: schema('ErrorEnvelope'),
    });
  });

  it('has no dangling references', () => {
    const references = JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/(\w+)"/g);
    const held: Record<string, object | undefined> = { ...document.components };
    for (const [, kind = '', name = ''] of references) expect(held[kind]).toHaveProperty(name);
  });
});

describe('GET /docs', () => {
  it('is a public page whose only script files come from this server', async () => {
    const { status, headers, text } = await createClient().get('/docs', {});
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    const addresses = [...text.matchAll(/<script src="([^"]*)"/g)].map(([, src]) => src);
    // Relative, for a server below a path.
    expect(addresses).toEqual(['docs/scalar.js']);
    expect(text).not.toMatch(/https?:/);
  });

  it('lets the browser run only this script and its inline one, and contact only this server', async () => {
    const { headers, text } = await createClient().get('/docs', {});
    const [, inline = ''] = /<script>(.*)<\/script>/.exec(text) ?? [];
    const hash = createHash('sha256').update(inline).digest('base64');
    const policy = headers.get('content-security-policy')?.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        `script-src 'self' 'sha256-${hash}'`,
        "connect-src 'self'",
      ]),
    );
    expect(policy?.join()).not.toMatch(/unsafe-eval|https?:/);
  });

  it('serves the script from our own files', async () => {
    const { status, headers, text } = await createClient().get('/docs/scalar.js', {});
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(text).toContain('createApiReference');
  });
});
