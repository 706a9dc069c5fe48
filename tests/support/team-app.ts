import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createPostgres, type TestDatabase } from './databases.ts';
import { useTemporaryFolder } from './folders.ts';
import { createRepository, type TestRepository } from './git.ts';
import { type GitServer, startGitServer } from './git-server.ts';
import { callWorker, type WorkerCall } from './worker.ts';

/** The environment of a test of backup runs. All but the git server is new for each test. */
export interface TeamApp {
  /** Serves the repository as `team/app.git`. */
  server: GitServer;
  database: TestDatabase;
  folder: string;
  archives: string;
  /** A repository with one commit. */
  app: TestRepository;
  /** Runs the worker on the repository. */
  backUp(call?: Partial<WorkerCall>): ReturnType<typeof callWorker>;
}

/** Gives each test of a file a repository on a git server, an empty Postgres and a folder for archives. */
export function setUpTeamApp(): TeamApp {
  const folder = useTemporaryFolder();
  const archives = join(folder, 'archives');
  const team = {
    ...{ folder, archives },
    backUp: (call: Partial<WorkerCall> = {}) =>
      callWorker({
        databaseUrl: team.database.url,
        archives,
        args: ['run', '--source', `${team.server.url}/team/app.git`],
        ...call,
      }),
  } as TeamApp;
  beforeAll(async () => {
    team.server = await startGitServer();
  });
  afterAll(() => team.server.close());
  beforeEach(async () => {
    team.database = await createPostgres();
    team.app = await createRepository(join(folder, 'app'));
    await team.app.commit({ 'a.txt': 'a' });
    team.server.serve('team/app.git', team.app.path);
  });
  afterEach(() => team.database.close());
  return team;
}
