import { openDatabase } from '../../../lib/database/open.ts';
import { createPostgres, silentLog } from '../../support/databases.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { createRepository } from '../../support/git.ts';
import { startGitServer } from '../../support/git-server.ts';
import { createHostedWorker } from '../../support/hosted-worker.ts';
import { NEON_HOST, startNeonEndpoint } from '../../support/neon-http.ts';
import type { HostGround, ProxiedDatabase, WorkerGround } from './worker-surfaces.ts';

/** An environment for the worker, with one part behind a proxy. */
export interface WorkerWorld<On> {
  ground: On;
  proxy: FaultProxy;
  close(): Promise<void>;
}

/** The worker with its database behind the proxy. */
export async function startDatabaseWorld(
  driver: 'postgres' | 'neon',
): Promise<WorkerWorld<WorkerGround>> {
  const [start, running] = [await createPostgres(), await createPostgres()];
  const endpoint = await startNeonEndpoint(start.url);
  const { hostname, port } = new URL(driver === 'neon' ? endpoint.url : start.url);
  const proxy = await startFaultProxy(hostname, Number(port));
  const folder = await temporaryFolder();
  const app = await createRepository(`${folder.path}/app`);
  await app.commit({ 'a.txt': 'a' });
  const server = await startGitServer();
  server.serve('team/app.git', app.path);

  const throughPg = (database: typeof start): ProxiedDatabase => {
    const url = new URL(database.url);
    url.host = proxy.host;
    return { ...database, worker: { databaseUrl: url.href } };
  };
  const throughNeon = async (database: typeof start): Promise<ProxiedDatabase> => {
    const { username, password, pathname } = new URL(database.url);
    const db = await openDatabase({
      url: `postgres://${username}:${password}@${NEON_HOST}${pathname}?sslmode=require`,
      fetch: (_input, init) => fetch(`http://${proxy.host}/sql`, init),
      log: silentLog,
    });
    // The other one never connects, because it is never used.
    return { ...database, worker: { databaseUrl: database.url, wrap: () => db } };
  };
  const through = driver === 'neon' ? throughNeon : throughPg;
  return {
    proxy,
    ground: {
      databases: { start: await through(start), running: await through(running) },
      folder: folder.path,
      repository: app.path,
      server,
    },
    async close() {
      await proxy.close();
      await server.close();
      await endpoint.close();
      await start.close();
      await running.close();
      await folder.remove();
    },
  };
}

/** The worker with its git host behind the proxy. */
export async function startHostWorld(): Promise<WorkerWorld<HostGround>> {
  const bench = await createHostedWorker();
  const [discovery, clone] = [await createPostgres(), await createPostgres()];
  const { hostname, port } = new URL(bench.host.url);
  const proxy = await startFaultProxy(hostname, Number(port));
  const url = `http://${proxy.host}`;
  await bench.add({ fullName: 'team/app' });
  await bench.logIn('app', 'github:source', url);
  return {
    proxy,
    ground: { bench, url, databases: { discovery, clone } },
    async close() {
      await proxy.close();
      await bench.close();
      await discovery.close();
      await clone.close();
    },
  };
}
