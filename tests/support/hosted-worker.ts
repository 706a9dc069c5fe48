import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { openLoginStore } from '../../lib/worker/logins/login-store.ts';
import type { TestDatabase } from './databases.ts';
import { emptyLedger } from './drills.ts';
import { temporaryFolder } from './folders.ts';
import { copyBare, createRepository, type TestRepository } from './git.ts';
import { type GitHost, startGitHost } from './git-host/server.ts';
import { type SmartHttp, serveSmartHttp } from './git-host/smart-http.ts';
import { grantAppToken, type HostRepository, makeToken } from './git-host/state.ts';
import { latest } from './hooks.ts';
import { createMemoryKeychain } from './keychain.ts';
import { factsAt } from './logins.ts';
import { callWorker, type WorkerCall } from './worker.ts';

/** A git host with repositories, an app installed on it, and a worker that is logged in. */
export interface HostedWorker {
  folder: string;
  archives: string;
  host: GitHost;
  http: SmartHttp;
  /** Variables for a worker that knows the host. */
  env: Record<string, string>;
  /** Creates a repository on the host with one commit, and installs the app on it. */
  add(
    repository: HostRepository,
    options?: { installed?: boolean; commits?: number },
  ): Promise<TestRepository>;
  /**
   * Stores the login of the app, or an imported token, in credentials.json, for this host by default. Returns its
   * token.
   */
  logIn(
    kind?: 'app' | 'token',
    name?: 'github:source' | 'github:destination',
    url?: string,
  ): Promise<string>;
  run(call: Pick<WorkerCall, 'databaseUrl'> & Partial<WorkerCall>): ReturnType<typeof callWorker>;
  close(): Promise<void>;
}

/** Gives each test a git host and a worker, with no runs recorded in the file's database. */
export function useHostedWorker(database: TestDatabase): HostedWorker {
  let worker: HostedWorker;
  beforeEach(async () => {
    worker = await createHostedWorker();
    await database.db.query({
      text: 'TRUNCATE backup_runs, worker_repo_state, archive_versions, archive_refs, archive_stores, anomalies, coverage, incidents, host_logins, archive_disks, badges, forgotten_repositories, sources, repository_sources, run_jobs, run_members, restore_drill_claims CASCADE',
    });
    await emptyLedger(database.db);
  });
  afterEach(() => worker.close());
  return latest(() => worker);
}

/** Starts a host whose files are all in a temporary folder. */
export async function createHostedWorker(): Promise<HostedWorker> {
  const { path: folder, remove } = await temporaryFolder();
  const host = await startGitHost(systemClock);
  const root = join(folder, 'host');
  const http = serveSmartHttp(host.app, host.state, root);
  const config = join(folder, 'config');
  const archives = join(folder, 'archives');
  const env = { GIT_HOST_URL: host.url, BACKUP_CONFIG_DIR: config };
  return {
    ...{ folder, archives, host, http, env },
    async add(repository, { installed = true, commits = 1 } = {}) {
      const [owner = '', name = ''] = repository.fullName.split('/');
      const work = await createRepository(join(folder, 'work', owner, name));
      for (let count = 0; count < commits; count++)
        await work.commit({ 'a.txt': `${name} ${count}` });
      const bare = join(root, owner, `${name}.git`);
      await mkdir(join(root, owner), { recursive: true });
      await copyBare(work, bare);
      const origin = `[remote "origin"]\n\turl = ${bare}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
      await appendFile(join(work.path, '.git/config'), origin);
      host.addRepository(repository);
      if (installed) install(host, owner, repository.fullName);
      return work;
    },
    async logIn(kind = 'app', name = 'github:source', url = host.url) {
      const store = openLoginStore({
        folder: config,
        keychain: createMemoryKeychain(),
        notify: () => undefined,
      });
      const token =
        kind === 'app'
          ? grantAppToken(host.state, 'ada', 'Iv1.standin').access_token
          : makeToken('ghp');
      if (kind === 'token')
        host.state.tokens.set(token, { login: 'ada', endsAt: null, ofApp: false });
      const facts = factsAt(host, {
        host: url,
        kind,
        client_id: kind === 'app' ? 'Iv1.standin' : null,
      });
      await store.save(name, { facts, secrets: { token, refresh_token: null } }, ['file']);
      return token;
    },
    run: ({ env: more, ...call }) =>
      callWorker({ archives, args: ['run'], folder, ...call, env: { ...env, ...more } }),
    async close() {
      await host.close();
      await remove();
    },
  };
}

/** Adds a repository to the installation on its account, which is created if necessary. */
export function install({ state }: GitHost, account: string, fullName: string): void {
  const there = state.installations.find((it) => it.account === account);
  if (there) there.repositories.push(fullName);
  else {
    const id = state.installations.length + 1;
    const accountType = state.organizations.has(account) ? 'Organization' : 'User';
    state.installations.push({
      id,
      account,
      accountType,
      selection: 'all',
      repositories: [fullName],
    });
  }
}
