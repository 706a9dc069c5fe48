import { type Context, Hono } from 'hono';
import { findGrant, type GitHostState, type HostRepository } from './state.ts';

/** The parts of the host's REST API that the worker uses. */
export function apiRoutes(state: GitHostState): Hono {
  const app = new Hono();

  app.use(async (c, next) => {
    const instead = state.apiAnswers.shift();
    if (instead === undefined) return next();
    if ('status' in instead) {
      const message = instead.echo ? `no ${c.req.header('authorization')}` : 'no';
      return c.json({ message }, instead.status as 500);
    }
    if (instead.limit === 'secondary') {
      const message = 'You have exceeded a secondary rate limit.';
      return c.json({ message }, 403, { 'retry-after': String(instead.retryAfter) });
    }
    // The client compares this with the time of its own machine.
    const reset = Math.floor(Date.now() / 1_000) + instead.resetInSeconds;
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) };
    return c.json({ message: 'API rate limit exceeded' }, 403, headers);
  });

  app.post('/app-manifests/:code/conversions', (c) => {
    const made = state.manifests.get(c.req.param('code'));
    // A code works once.
    state.manifests.delete(c.req.param('code'));
    return made ? c.json(made, 201) : c.json({ message: 'Not Found' }, 404);
  });

  app.use(async (c, next) => {
    const authorization = c.req.header('authorization');
    if (authorization !== undefined && !findGrant(state, authorization)) {
      return c.json({ message: 'Bad credentials' }, 401);
    }
    return next();
  });

  app.use(async (c, next) => {
    await next();
    const endsAt = findGrant(state, c.req.header('authorization'))?.endsAt ?? null;
    if (!state.reportsExpiration || endsAt === null) return;
    const [day, time] = new Date(endsAt).toISOString().split(/[T.]/);
    c.header('github-authentication-token-expiration', `${day} ${time} UTC`);
  });

  const grantOf = (c: Context) => findGrant(state, c.req.header('authorization'));
  const refuse = (c: Context) => c.json({ message: 'Requires authentication' }, 401);

  app.get('/user', (c) => {
    const grant = grantOf(c);
    return grant ? c.json({ login: grant.login, type: 'User' }) : refuse(c);
  });
  app.get('/user/installations', (c) => {
    const grant = grantOf(c);
    if (!grant) return refuse(c);
    if (!grant.ofApp) return c.json({ message: 'You must authenticate with an app token' }, 403);
    const { items, headers } = page(c, state.installations, state.pageSize);
    const installations = items.map((it) => ({
      id: it.id,
      account: { login: it.account, type: it.accountType },
      repository_selection: it.selection,
      suspended_at: it.suspended ? '2026-01-01T00:00:00Z' : null,
    }));
    return c.json({ total_count: state.installations.length, installations }, 200, headers);
  });
  app.get('/user/installations/:id/repositories', (c) => {
    if (!grantOf(c)) return refuse(c);
    const found = state.installations.find((it) => String(it.id) === c.req.param('id'));
    if (!found) return c.json({ message: 'Not Found' }, 404);
    if (found.suspended) return c.json({ message: 'This installation has been suspended' }, 403);
    const all = found.repositories.flatMap((name) => state.repositories.get(name) ?? []);
    const { items, headers } = page(c, all, state.pageSize);
    const repositories = items.map((it) => describe(it, origin(c)));
    return c.json({ total_count: all.length, repositories }, 200, headers);
  });
  app.get('/user/repos', (c) => {
    const grant = grantOf(c);
    if (!grant) return refuse(c);
    const visibility = c.req.query('visibility') ?? 'all';
    const all = [...state.repositories.values()].filter(
      (it) => visibility === 'all' || (visibility === 'private') === (it.private ?? false),
    );
    const { items, headers } = page(c, all, state.pageSize);
    return c.json(
      items.map((it) => describe(it, origin(c))),
      200,
      headers,
    );
  });
  app.get('/users/:name', (c) => {
    const name = c.req.param('name');
    const type = accountType(state, name);
    return type ? c.json({ login: name, type }) : c.json({ message: 'Not Found' }, 404);
  });
  for (const [kind, expected] of [
    ['users', 'User'],
    ['orgs', 'Organization'],
  ] as const) {
    app.get(`/${kind}/:name/repos`, (c) => {
      const name = c.req.param('name');
      if (accountType(state, name) !== expected) return c.json({ message: 'Not Found' }, 404);
      const seesPrivate = grantOf(c) !== null && kind === 'orgs';
      const all = [...state.repositories.values()].filter(
        (it) => it.fullName.startsWith(`${name}/`) && (seesPrivate || !it.private),
      );
      const { items, headers } = page(c, all, state.pageSize);
      return c.json(
        items.map((it) => describe(it, origin(c))),
        200,
        headers,
      );
    });
  }
  app.get('/repos/:owner/:name', (c) => {
    const asked = `${c.req.param('owner')}/${c.req.param('name')}`;
    const now = state.renamed.get(asked);
    if (now) return c.redirect(`/api/v3/repos/${now}`, 301);
    const found = state.repositories.get(asked);
    if (!found || (found.private && !grantOf(c))) return c.json({ message: 'Not Found' }, 404);
    if (found.disabled) return c.json({ message: 'Repository access blocked' }, 451);
    return c.json(describe(found, origin(c)));
  });
  return app;
}

function accountType(state: GitHostState, name: string): 'User' | 'Organization' | null {
  if (state.organizations.has(name)) return 'Organization';
  return state.users.has(name) ? 'User' : null;
}

function origin(c: Context): string {
  return new URL(c.req.url).origin;
}

function describe(repository: HostRepository, url: string) {
  const [owner = '', name = ''] = repository.fullName.split('/');
  return {
    id: [...repository.fullName].reduce(
      (sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2 ** 31,
      7,
    ),
    name,
    full_name: repository.fullName,
    owner: { login: owner },
    private: repository.private ?? false,
    visibility: repository.internal ? 'internal' : repository.private ? 'private' : 'public',
    archived: repository.archived ?? false,
    fork: repository.fork ?? false,
    size: repository.size ?? 0,
    disabled: repository.disabled ?? false,
    default_branch: repository.defaultBranch ?? 'main',
    clone_url: `${url}/${repository.fullName}.git`,
    html_url: `${url}/${repository.fullName}`,
  };
}

/** One page of a list and the Link header that says whether there is another. */
function page<Item>(c: Context, all: readonly Item[], most: number) {
  const number = Number(c.req.query('page') ?? '1');
  const size = Math.min(Number(c.req.query('per_page') ?? '30'), most);
  const next = new URL(c.req.url);
  next.searchParams.set('page', String(number + 1));
  const headers: Record<string, string> =
    number * size < all.length ? { link: `<${next}>; rel="next"` } : {};
  return { items: all.slice((number - 1) * size, number * size), headers };
}
