import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { completedRun, eachOnce, useFleet } from '../../support/fleet.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';

// Each machine sees the archive folder at its own mount point, which may lose it in the middle of a run.

const database = useDatabase();
const bench = useHostedWorker(database);
const fleet = useFleet(database, bench);

const mount = () => join(bench.folder, 'mount');
const other = () => join(bench.folder, 'another-file-system');

beforeEach(async () => {
  await mkdir(bench.archives);
  await mkdir(other());
  await symlink(bench.archives, mount());
});

describe.each([
  ['disappears', async () => rm(mount())],
  [
    'is replaced by another one',
    async () => {
      await rm(mount());
      await symlink(other(), mount());
    },
  ],
])('a member whose archive folder %s', (_, lose) => {
  /** Starts two machines and waits until each is in the middle of a repository. The second uses the mount. */
  async function startTwo(concurrency: string) {
    const [a, b] = [fleet.hold('team/a'), fleet.hold('team/b')];
    const first = fleet.start('one');
    await a.came;
    const env = { BACKUP_ARCHIVE_PATH: mount(), BACKUP_CONCURRENCY: concurrency };
    const second = fleet.start('two', [], env);
    await b.came;
    return { first, second, a, b };
  }

  it('leaves the repository that it is working on to the others, and writes nothing', async () => {
    const { first, second, a, b } = await startTwo('1');
    await lose();
    b.release();
    const { code, stdout } = await second.finished;
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^Left run \d+ .*, 0 unchanged, 0 failed here/),
    });
    expect(stdout).toContain(`is it mounted? (on ${hostname()})`);
    expect(await readdir(other())).toEqual([]);
    a.release();
    expect((await first.finished).code).toBe(0);
    expect(await fleet.runs()).toEqual([completedRun]);
    expect(await fleet.results()).toEqual(eachOnce);
  });

  it('takes no further repository after it has finished one', async () => {
    const { first, second, a, b } = await startTwo('4');
    // By now the second machine has finished all others, and asks for more every two seconds.
    await second.waitFor(/team\/d: archived/);
    await second.waitFor(/team\/c: archived/);
    await lose();
    const { code, stdout } = await second.finished;
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('is it mounted?'),
    });
    expect(await readdir(other())).toEqual([]);
    a.release();
    b.release();
    expect((await first.finished).code).toBe(0);
    expect(await fleet.results()).toEqual(eachOnce);
  });
});
