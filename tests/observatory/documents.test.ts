import { describe, expect, it } from 'vitest';
import type { Route } from '../../lib/http/route.ts';
import { observatoryEndpoints } from '../../lib/observatory/observatory-endpoints.ts';
import { allRoutes, createDocument } from '../../scripts/build/openapi.ts';

const observatoryRoutes = observatoryEndpoints.map(({ route }) => route);
const document = createDocument(allRoutes);
const operationOf = ({ method, path }: Route) =>
  document.paths?.[path.replace(/:(\w+)/g, '{$1}')]?.[method];

describe('/openapi.json', () => {
  it.each(observatoryRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'describes %s: its path, input, answers and access',
    (_name, route) => {
      const operation = operationOf(route);
      const statuses = Object.keys(operation?.responses ?? {});
      expect(statuses).toEqual(expect.arrayContaining([...Object.keys(route.responses), '500']));
      expect(statuses.includes('401')).toBe(
        route.access === 'user' || ['/auth/login', '/auth/session'].includes(route.path),
      );
      expect(operation?.security).toEqual(
        route.access === 'user' ? [{ UserToken: [] }, { UserCookie: [] }] : [],
      );
      expect(statuses.includes('400')).toBe(Boolean(route.params || route.query || route.body));
      expect(statuses.includes('413')).toBe(Boolean(route.body));
      expect(statuses.includes('422')).toBe(Boolean(route.idFields));
      expect(statuses.includes('429')).toBe(route.path !== '/observatory/ready');
      const servers = document.paths?.[route.path.replace(/:(\w+)/g, '{$1}')]?.servers;
      expect(servers).toEqual(
        route.path === '/observatory/ready' ? undefined : [{ url: '/' }, { url: '/observatory' }],
      );
    },
  );

  it('describes every error of the observatory by its own shape', () => {
    const $ref = '#/components/schemas/ObservatoryError';
    for (const route of observatoryRoutes) {
      for (const [status, response] of Object.entries(operationOf(route)?.responses ?? {})) {
        if (Number(status) < 400 || (status === '503' && route.path === '/observatory/ready'))
          continue;
        expect(response).toMatchObject({ content: { 'application/json': { schema: { $ref } } } });
      }
    }
  });

  it('describes bodies: a form for the login, JSON elsewhere', () => {
    const login = document.paths?.['/auth/login']?.post?.requestBody;
    expect(login).toMatchObject({
      required: true,
      content: {
        'application/x-www-form-urlencoded': { schema: { $ref: '#/components/schemas/Login' } },
      },
    });
    const create = document.paths?.['/sessions']?.post?.requestBody;
    expect(create).toMatchObject({ required: false, content: { 'application/json': {} } });
  });

  it('describes the token', () => {
    expect(document.components?.securitySchemes?.UserToken).toMatchObject({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
    });
  });
});
