import { type ChildProcess, fork } from 'node:child_process';
import type { Clock } from '../../clock.ts';
import type { Environment } from '../../config/read.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { KeychainAnswer, KeychainCall } from './keychain-call.ts';

/** Why the keychain could not be used, as a text that can follow a colon. */
export class KeychainError extends Error {
  override readonly name = 'KeychainError';
}

/** The keychain of the operating system. Every call may throw KeychainError. */
export interface Keychain {
  read(name: string): Promise<string | null>;
  write(name: string, secret: string): Promise<void>;
  /** Does nothing if there is no such entry. */
  remove(name: string): Promise<void>;
}

const CALL_LIMIT_MS = 3_000;
/** For starting the process of a call on a busy machine. */
const START_LIMIT_MS = 15_000;

/** Variables that even a program started by cron has. */
const basicVariables = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SystemRoot', 'USERPROFILE', 'APPDATA'];
/** Variables that lead to the keychain of a desktop session. */
const sessionVariables = [
  'DBUS_SESSION_BUS_ADDRESS',
  'XDG_RUNTIME_DIR',
  'DISPLAY',
  'WAYLAND_DISPLAY',
];
const keychainVariables = [...basicVariables, ...sessionVariables];

/** The environment without a desktop session, like that of cron. */
export function withoutSession(environment: Environment): Environment {
  return pick(environment, basicVariables);
}

function pick(environment: Environment, names: readonly string[]): Record<string, string> {
  const entries = names.flatMap((name) => {
    const value = environment[name];
    return value ? [[name, value] as const] : [];
  });
  return Object.fromEntries(entries);
}

/**
 * The system's keychain: the Secret Service on Linux, Keychain on macOS, Credential Manager on Windows. Each
 * call runs in its own process, which is killed after 3 seconds: a hanging D-Bus would block its thread, and
 * with it the exit of the process, forever.
 */
export function createKeychain(environment: Environment, clock: Clock): Keychain {
  const call = (request: KeychainCall) => carryOut(request, environment, clock);
  return {
    read: (name) => call({ act: 'read', name }),
    write: async (name, secret) => void (await call({ act: 'write', name, secret })),
    remove: async (name) => void (await call({ act: 'remove', name })),
  };
}

async function carryOut(
  request: KeychainCall,
  environment: Environment,
  clock: Clock,
): Promise<string | null> {
  const child = fork(new URL('./keychain-call.ts', import.meta.url), {
    execArgv: [],
    env: pick(environment, keychainVariables),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  try {
    await nextAnswer(child, clock, START_LIMIT_MS, 'it did not start');
    child.send(request);
    const answer = await nextAnswer(
      child,
      clock,
      CALL_LIMIT_MS,
      'it did not answer within 3 seconds',
    );
    if ('error' in answer) throw new KeychainError(cleanText(answer.error, 200));
    return 'value' in answer ? answer.value : null;
  } finally {
    process.removeListener('exit', end);
    end();
  }
}

function nextAnswer(
  child: ChildProcess,
  clock: Clock,
  limitMs: number,
  late: string,
): Promise<KeychainAnswer> {
  const answered = new AbortController();
  return new Promise<KeychainAnswer>((resolve, reject) => {
    child.once('message', (message) => resolve(message as KeychainAnswer));
    child.once('error', (error) => reject(new KeychainError(error.message)));
    child.once('exit', () => reject(new KeychainError('the call to it ended early')));
    clock.sleep(limitMs, answered.signal).then(
      () => reject(new KeychainError(late)),
      () => undefined, // the response came in time
    );
  }).finally(() => answered.abort());
}
