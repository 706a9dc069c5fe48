import { z } from 'zod';
import { createGatewayClient } from '../gateway/client.ts';
import { createServerKeyRing, createUserKeyRing, type KeyRing } from '../gateway/keys.ts';
import { createGatewayTransport } from '../gateway/transport.ts';
import type { Clock } from '../platform/clock.ts';
import { type DatabaseConfig, databaseVariables } from '../platform/config/database.ts';
import { type GatewayConfig, gatewayVariables } from '../platform/config/gateway.ts';
import { configFolder, gitHostVariables } from '../platform/config/git-host.ts';
import { logVariables } from '../platform/config/log.ts';
import { type Environment, readConfig } from '../platform/config/read.ts';
import { configuredSecrets } from '../platform/config/secrets.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { createLog, type Log } from '../platform/log.ts';
import { createRedactor } from '../platform/redaction.ts';
import { createDisplay, type Display } from './display.ts';
import { runEmbed } from './embed.ts';
import type { EmbedCommand } from './embed-arguments.ts';
import type { Keychain } from './logins/keychain.ts';
import { openLoginStore } from './logins/login-store.ts';
import type { CommandIo } from './logins/person.ts';
import { readSecrets } from './logins/refresh.ts';

const embedVariables = z.object({
  ...databaseVariables.shape,
  ...logVariables.shape,
  ...gatewayVariables.shape,
});

const LOGIN = 'gateway:default';

/** What the worker gives to this command. */
export interface EmbedOptions {
  environment: Environment;
  clock: Clock;
  io: CommandIo;
  keychain: Keychain;
  fetch: typeof fetch;
  signal: AbortSignal;
  openDatabase(config: DatabaseConfig, log: Log): Promise<Database>;
}

/** `worker embed`: puts its handles together and runs it. Throws what `runEmbed` throws. */
export async function runEmbedCommand(
  options: EmbedOptions,
  command: EmbedCommand,
): Promise<number> {
  const { environment, clock, fetch, io, signal } = options;
  const config = readConfig(embedVariables, environment);
  const display = createDisplay(io.stderr, io.isTerminal);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, clock, display.line, redactor);
  const db = await options.openDatabase(config, log);
  try {
    const client = createGatewayClient(createGatewayTransport({ config, fetch, clock }));
    const keys = () => resolveKeys(options, config, display);
    return await runEmbed(
      {
        ...{ db, clock, log, redactor, display, signal },
        stdout: io.stdout,
        isTerminal: io.isTerminal,
        gateway: { client, keys },
      },
      command,
    );
  } finally {
    display.clear();
    await db.close();
  }
}

/** The key of `login gateway`, where it was made for this gateway, else those of the server. */
async function resolveKeys(
  { environment, keychain }: EmbedOptions,
  config: GatewayConfig,
  display: Display,
): Promise<KeyRing> {
  const folder = configFolder(readConfig(gitHostVariables, environment), environment);
  const store = openLoginStore({ folder, keychain, notify: display.line });
  const login = await store.find(LOGIN);
  if (login !== null && login.host === new URL(config.GATEWAY_BASE_URL).origin) {
    const { token } = await readSecrets(LOGIN, login, store);
    return createUserKeyRing(token, { used: () => undefined, refused: async () => undefined });
  }
  if (config.GATEWAY_API_KEYS.length > 0) return createServerKeyRing(config.GATEWAY_API_KEYS);
  throw new AppError(
    'GATEWAY_NOT_CONFIGURED',
    'no key for the model gateway: run `npm run worker -- login gateway`, or set GATEWAY_API_KEYS',
  );
}
