import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildHandles } from '../../lib/backups/app.ts';
import { renderDocs } from '../../lib/backups/docs-page.ts';
import { backupsEndpoints } from '../../lib/backups/endpoints.ts';
import { createDocument } from '../../lib/platform/http/openapi.ts';
import type { Route } from '../../lib/platform/http/route.ts';
import { createClient } from '../support/client.ts';
import { createTestDeps } from '../support/deps.ts';

const routes = backupsEndpoints.map(({ route }) => route);
const document = createDocument(routes, { title: 'Test', version: '1', description: 'About.' });
const operationOf = ({ method, path }: Route) =>
  document.paths?.[path.replace(':id', '{id}')]?.[method];

describe('GET /openapi.json', () => {
  it('is an OpenAPI 3.1 document, open to anyone', async () => {
    const { status, body } = await createClient().get('/openapi.json', {});
    expect(status).toBe(200);
    expect(body).toMatchObject({ openapi: '3.1.1', info: { title: 'Backup Observatory' } });
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'describes %s: what it takes, what it answers, who may call it',
    (_name, route) => {
      const operation = operationOf(route);
      const statuses = Object.keys(operation?.responses ?? {});
      expect(statuses).toEqual(expect.arrayContaining(Object.keys(route.responses())));
      expect(statuses).toContain('500');
      expect(statuses.includes('401')).toBe(route.access !== 'public');
      expect(statuses.includes('400')).toBe(Boolean(route.params ?? route.query));
      expect(statuses.includes('429')).toBe(route.path.startsWith('/api/'));
      expect(operation?.security).toHaveLength(route.access === 'public' ? 0 : 2);
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

  it('refers to nothing that it does not hold', () => {
    const references = JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/(\w+)"/g);
    const held: Record<string, object | undefined> = { ...document.components };
    for (const [, kind = '', name = ''] of references) expect(held[kind]).toHaveProperty(name);
  });
});

describe('GET /docs', () => {
  it('is a page that loads and runs nothing, open to anyone', async () => {
    const { status, headers, text } = await createClient().get('/docs', {});
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    );
    expect(text).not.toMatch(/<script|<link|<img|\sstyle=|\son\w+=|https?:/);
  });

  it('names every route, parameter and schema', async () => {
    const { text } = await createClient().get('/docs', {});
    for (const path of Object.keys(document.paths ?? {})) expect(text).toContain(`<code>${path}<`);
    for (const name of Object.keys(document.components?.schemas ?? {})) {
      expect(text).toContain(`<code>${name}</code>`);
    }
  });

  it('gives each id once and links to none that is missing', async () => {
    const { text } = await createClient().get('/docs', {});
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of text.matchAll(/href="#([^"]*)"/g)) expect(ids).toContain(target);
  });

  it('escapes everything of the document', async () => {
    const evil = '<script>alert("1")</script>';
    const route: Route = {
      method: 'get',
      path: `/${evil}`,
      summary: evil,
      description: evil,
      tag: evil,
      access: 'public',
      query: () => z.object({ [evil]: z.enum([evil]).meta({ description: evil }) }),
      responses: () => ({
        200: {
          description: evil,
          schema: z.object({ [evil]: z.literal(evil) }).meta({ id: 'It' }),
        },
      }),
    };
    const page = await renderDocs(
      createDocument([route], { title: evil, version: evil, description: evil }),
    );
    expect(String(page)).not.toContain('<script');
  });
});

it('makes each text once, however often anybody asks for it', async () => {
  const { documents } = buildHandles(createTestDeps(), async () => []);
  expect(await documents.page()).toBe(await documents.page());
  expect(documents.openApi()).toBe(documents.openApi());
});
