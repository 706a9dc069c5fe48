import { join } from 'node:path';
import { readConfig } from '../../lib/platform/config/read.ts';
import { type GitHostConfig, gitHostVariables } from '../../lib/platform/config/worker.ts';
import { connectGitHost, type GitHostConnection } from '../../lib/worker/git-host/connection.ts';
import type { LoginFacts } from '../../lib/worker/logins/login.ts';
import { type LoginStore, openLoginStore } from '../../lib/worker/logins/login-store.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { temporaryFolder } from './git.ts';
import { type GitHost, startGitHost } from './git-host/server.ts';
import { grantAppToken } from './git-host/state.ts';
import { createMemoryKeychain, type MemoryKeychain } from './keychain.ts';

/** A host, a configuration folder and a keychain for tests of logins, on a clock of their own. */
export interface LoginBench {
  clock: TestClock;
  host: GitHost;
  /** The configuration folder; not made yet. */
  folder: string;
  keychain: MemoryKeychain;
  config: GitHostConfig;
  connection: GitHostConnection;
  store: LoginStore;
  /** What was said to the person. */
  notices: string[];
  remove(): Promise<void>;
}

export async function createLoginBench(env: Record<string, string> = {}): Promise<LoginBench> {
  const clock = createTestClock();
  const host = await startGitHost(clock);
  const { path, remove } = await temporaryFolder();
  const folder = join(path, 'config');
  const keychain = createMemoryKeychain();
  const notices: string[] = [];
  const config = readConfig(gitHostVariables, { GIT_HOST_URL: host.url, ...env });
  return {
    clock,
    host,
    folder,
    keychain,
    config,
    connection: connectGitHost(config, { fetch, clock, signal: new AbortController().signal }),
    store: openLoginStore({ folder, keychain, notify: (text) => notices.push(text) }),
    notices,
    async remove() {
      await host.close();
      await remove();
    },
  };
}

/** Facts of a login at the bench's host; `app`, without an end, unless told otherwise. */
export function factsAt({ url }: GitHost, facts: Partial<LoginFacts> = {}): LoginFacts {
  return {
    kind: 'app',
    account: 'ada',
    host: url,
    client_id: 'Iv1.standin',
    expires_at: null,
    refresh_expires_at: null,
    ...facts,
  };
}

/** Stores a login of the app as the device flow would, with a token that the host granted now. */
export async function storeAppLogin(
  { host, store, clock }: LoginBench,
  name: 'github:source' | 'github:destination' = 'github:source',
  stores: readonly ('keychain' | 'file')[] = ['keychain'],
): Promise<{ token: string; refreshToken: string }> {
  const granted = grantAppToken(host.state, 'ada', 'Iv1.standin');
  const at = (seconds: number) => new Date(clock.now() + seconds * 1_000).toISOString();
  await store.save(
    name,
    {
      facts: factsAt(host, {
        expires_at: at(granted.expires_in),
        refresh_expires_at: at(granted.refresh_token_expires_in),
      }),
      secrets: { token: granted.access_token, refresh_token: granted.refresh_token },
    },
    stores,
  );
  return { token: granted.access_token, refreshToken: granted.refresh_token };
}
