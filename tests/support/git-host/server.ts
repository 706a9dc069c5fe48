import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { apiRoutes } from './api.ts';
import { loginRoutes } from './logins.ts';
import { createGitHostState, type GitHostState, type HostRepository } from './state.ts';

/** A git host on loopback: GIT_HOST_URL is its `url`, and its API has the paths of an enterprise host. */
export interface GitHost {
  url: string;
  state: GitHostState;
  /** Makes a person on the host allow every login that waits. */
  approve(login: string): void;
  addRepository(repository: HostRepository): void;
  /** The app to which further routes, such as git's own protocol, can be added before the first request. */
  app: Hono;
  close(): Promise<void>;
}

/** Starts an empty host with one app, `Iv1.standin`, and one person, `ada`. */
export async function startGitHost(clock: Clock = systemClock): Promise<GitHost> {
  const state = createGitHostState(clock);
  state.apps.set('Iv1.standin', { deviceFlow: true });
  state.users.add('ada');
  const app = new Hono();
  app.use(async (c, next) => {
    const isJson = c.req.header('content-type')?.includes('application/json') ?? false;
    state.requests.push({
      method: c.req.method,
      path: c.req.path,
      at: clock.now(),
      authorization: c.req.header('authorization') ?? null,
      body: isJson ? ((await c.req.raw.clone().json()) as Record<string, unknown>) : {},
    });
    return next();
  });
  let url = '';
  app.route(
    '/',
    loginRoutes(state, () => url),
  );
  app.route('/api/v3', apiRoutes(state));
  const server = createServer(getRequestListener(app.fetch));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    state,
    app,
    approve(login) {
      for (const device of state.devices.values()) device.login = login;
    },
    addRepository: (repository) => state.repositories.set(repository.fullName, repository),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
