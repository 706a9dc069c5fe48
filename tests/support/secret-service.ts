import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const programs = ['dbus-daemon', 'gnome-keyring-daemon'];

/** Whether this machine can run a separate keychain for a test. Without one, those tests are skipped. */
export const hasSecretService = programs.every(
  (program) => spawnSync(program, ['--version']).status === 0,
);
if (!hasSecretService) {
  console.warn(`${programs.join(' and ')} are not installed: tests on the keychain are skipped`);
}

/** A desktop's keychain: a D-Bus session with an unlocked, empty GNOME keyring. */
export interface SecretService {
  /** The environment of a program in that desktop session. */
  env: Record<string, string>;
  close(): Promise<void>;
}

export async function startSecretService(): Promise<SecretService> {
  const home = await mkdtemp(join(tmpdir(), 'keyring-'));
  const runtime = join(home, 'runtime');
  await mkdir(runtime, { mode: 0o700 });
  const env = { PATH: process.env.PATH ?? '', HOME: home, XDG_RUNTIME_DIR: runtime };
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [address] = (await once(createInterface(bus.stdout), 'line')) as [string];
  const session = { ...env, DBUS_SESSION_BUS_ADDRESS: address };
  // Goes into the background once it is ready, and ends with the bus.
  const keyring = spawn('gnome-keyring-daemon', ['--unlock', '--components=secrets'], {
    env: session,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keyring.stdin.end('a password');
  await once(keyring, 'exit');
  return {
    env: session,
    async close() {
      const ended = once(bus, 'exit');
      bus.kill();
      await ended;
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
