import { join } from 'node:path';
import { AppError, errorCodes } from '../../../lib/errors.ts';
import type { TestDatabase } from '../../support/databases.ts';
import type { GitServer } from '../../support/git-server.ts';
import type { HostedWorker } from '../../support/hosted-worker.ts';
import { startScript } from '../../support/script.ts';
import { callWorker, rowsOf, type WorkerCall } from '../../support/worker.ts';
import { pause, request, type Surface, untilThere, WORKS } from './surface.ts';

/** Where the worker is run while its database is behind the proxy. */
export interface WorkerGround {
  /** Each with the address at which the worker reaches it. */
  databases: { start: ProxiedDatabase; running: ProxiedDatabase };
  folder: string;
  /** A repository on this machine. */
  repository: string;
  /** Serves the same repository as `team/app.git`. */
  server: GitServer;
}

/** A database whose driver goes through the proxy, whichever driver it is. */
export interface ProxiedDatabase extends TestDatabase {
  worker: Pick<WorkerCall, 'databaseUrl' | 'wrap'>;
}

/** `npm run worker -- run`, started while the database is broken. */
export const startRun: Surface<WorkerGround> = request(
  ({ databases, folder, repository }) =>
    outcomeOf(
      callWorker({
        ...databases.start.worker,
        archives: join(folder, 'start'),
        args: ['run', '--source', repository],
      }),
    ),
  async ({ databases }) => {
    // By then, its lease of 3 minutes has ended.
    const runs = await rowsOf(
      databases.start.db,
      `SELECT id FROM backup_runs WHERE status = 'running'`,
    );
    await databases.start.db.query({
      text: `UPDATE backup_runs SET started_at = now() - interval '1 hour',
        heartbeat_at = now() - interval '1 hour' WHERE status = 'running'`,
    });
    return runs.length === 0 ? 'no run' : 'an abandoned run for 3 minutes';
  },
);

/** A run during which the database breaks. */
export const underWayRun: Surface<WorkerGround> = async (ground, phases) => {
  const { databases, folder, server } = ground;
  const { db, worker } = databases.running;
  const held = server.holdFetch();
  const run = outcomeOf(
    callWorker({
      ...worker,
      archives: join(folder, `running-${Math.random()}`),
      args: ['run', '--source', `${server.url}/team/app.git`],
    }),
  );
  await held.came;
  await phases.broken();
  held.release();
  const early = await Promise.race([run, pause(3_000)]);
  await phases.repaired();
  const end = await untilEnded(run);
  const [last] = await rowsOf<{ status: string }>(
    db,
    'SELECT status FROM backup_runs ORDER BY id DESC LIMIT 1',
  );
  return {
    seen: early ?? `waits, then ${end}`,
    stored: `the run, ${last?.status}`,
  };
};

/** Where the worker uses a git host behind the proxy. */
export interface HostGround {
  bench: HostedWorker;
  /** Address of the host through the proxy. */
  url: string;
  databases: { discovery: TestDatabase; clone: TestDatabase };
}

/** A run that asks the git host which repositories there are. */
export const discover: Surface<HostGround> = request(
  ({ bench, url, databases }) =>
    outcomeOf(bench.run({ databaseUrl: databases.discovery.url, env: { GIT_HOST_URL: url } }), url),
  async ({ databases }) => describeLastRun(databases.discovery),
);

/** A run that clones from the git host. */
export const clone: Surface<HostGround> = request(
  ({ bench, url, databases }) =>
    outcomeOf(
      bench.run({
        databaseUrl: databases.clone.url,
        archives: join(bench.folder, `clones-${Math.random()}`),
        args: ['run', '--source', `${url}/team/app.git`],
      }),
      url,
    ),
  async ({ databases }) => describeLastRun(databases.clone),
);

/** `login github`, up to the code that it shows. */
export const logIn: Surface<HostGround> = request(async ({ bench, url }) => {
  const login = startScript('worker', {
    args: ['login', 'github', '--client-id', 'Iv1.standin', '--store', 'file'],
    env: { GIT_HOST_URL: url, BACKUP_CONFIG_DIR: join(bench.folder, 'login') },
    cwd: bench.folder,
  });
  const shown = await login.waitFor(/WDJB-MJHT/).then(
    () => WORKS,
    () => null,
  );
  login.child.kill('SIGKILL');
  const { code, stderr } = await login.finished;
  const [said] = withoutAddress(stderr, url).split(/: |\n/);
  return shown ?? `exit code ${code}: ${said}`;
});

async function describeLastRun({ db }: TestDatabase): Promise<string> {
  const [last] = await rowsOf<{ status: string; results: string | null }>(
    db,
    `SELECT status, (SELECT string_agg(status, ', ') FROM backup_results WHERE run_id = run.id)
       AS results FROM backup_runs AS run ORDER BY id DESC LIMIT 1`,
  );
  const { status, results } = last ?? {};
  return `the run, ${status}${results ? `, its repository ${results}` : ''}`;
}

/** `works` for a run that backed up everything, otherwise its exit code and the reason. */
async function outcomeOf(run: ReturnType<typeof callWorker>, url?: string): Promise<string> {
  try {
    const { code, stdout } = await run;
    if (code === 0 && /this run is spooled/.test(stdout)) {
      return `${WORKS}, and is delivered by the next run`;
    }
    if (code === 0 && /^Run \d+ completed/.test(stdout)) return WORKS;
    // Anything else that the system and git say differs between their versions.
    const [why] = /the git host (does not answer|sent an unexpected response)/.exec(
      withoutAddress(stdout, url),
    ) ?? [/1 failed/.test(stdout) ? 'the repository failed' : stdout];
    return `exit code ${code}: ${why}`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `exit code ${errorCodes[error.code].exitCode}: ${error.message}`;
  }
}

function withoutAddress(text: string, url?: string): string {
  if (url === undefined) return text;
  const { host } = new URL(url);
  return text.replaceAll(url, 'the git host').replaceAll(host, 'the git host');
}

async function untilEnded(run: Promise<string>): Promise<string> {
  let end: string | null = null;
  run.then((outcome) => {
    end = outcome;
  });
  return untilThere(() => end, 'the end of the run');
}
