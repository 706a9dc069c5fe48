import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { type GitHostConfig, gitHostVariables } from '../../lib/config/git-host.ts';
import { readConfig } from '../../lib/config/read.ts';
import { connectGitHost, type GitHostConnection } from '../../lib/worker/hosts/connection.ts';
import type { LoginFacts } from '../../lib/worker/logins/login.ts';
import { type LoginStore, openLoginStore } from '../../lib/worker/logins/login-store.ts';
import { type LoginSession, openLoginSession } from '../../lib/worker/logins/session.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { temporaryFolder } from './folders.ts';
import { type GitHost, startGitHost } from './git-host/server.ts';
import { grantAppToken } from './git-host/state.ts';
import { latest } from './hooks.ts';
import { createMemoryKeychain, type MemoryKeychain, noDesktop } from './keychain.ts';

/** A host, a configuration folder and a keychain for each test. */
export function useLoginBench(env?: Record<string, string>): LoginBench {
  let bench: LoginBench;
  beforeEach(async () => {
    bench = await createLoginBench(env);
  });
  afterEach(() => bench.remove());
  return latest(() => bench);
}

/** A host, a configuration folder and a keychain for tests of logins, with their own clock. */
export interface LoginBench {
  clock: TestClock;
  host: GitHost;
  /** The configuration folder, which does not exist yet. */
  folder: string;
  keychain: MemoryKeychain;
  config: GitHostConfig;
  connection: GitHostConnection;
  store: LoginStore;
  /** The output shown to the user. */
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

/** A session of one command on the bench, and what it writes. */
export interface TestSession {
  session: LoginSession;
  written: { stdout: string; stderr: string };
  /** Waits until stderr matches. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface TestSessionOptions {
  env?: Record<string, string>;
  /** Lines on stdin, which is not a terminal. */
  stdin?: string;
  signal?: AbortSignal;
}

export function openTestSession(bench: LoginBench, options: TestSessionOptions = {}): TestSession {
  const environment = {
    PATH: process.env.PATH,
    HOME: bench.folder,
    GIT_HOST_URL: bench.host.url,
    BACKUP_CONFIG_DIR: bench.folder,
    ...options.env,
  };
  const written = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  const session = openLoginSession({
    config: readConfig(gitHostVariables, environment),
    environment,
    clock: bench.clock,
    fetch,
    keychain: bench.keychain,
    desktop: noDesktop,
    signal: options.signal ?? new AbortController().signal,
    io: {
      isTerminal: false,
      stdin: Readable.from([options.stdin ?? '']),
      stdout: { write: (text) => (written.stdout += text) },
      stderr: {
        write(text) {
          written.stderr += text;
          for (const listener of listeners) listener();
        },
      },
    },
  });
  return {
    session,
    written,
    waitFor: (pattern) =>
      new Promise((found) => {
        const look = () => {
          const match = pattern.exec(written.stderr);
          if (match === null) return;
          listeners.delete(look);
          found(match);
        };
        listeners.add(look);
        look();
      }),
  };
}

/** Resolves when the clock has this many sleepers. */
export async function untilSleeping(
  { clock }: Pick<LoginBench, 'clock'>,
  count = 1,
): Promise<void> {
  while (clock.sleepers() < count) await new Promise((done) => setImmediate(done));
}

/** The facts of a login at the bench's host; by default of `app`, without an expiry. */
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
  { host, store, clock }: Pick<LoginBench, 'host' | 'store'> & { clock: Clock },
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
