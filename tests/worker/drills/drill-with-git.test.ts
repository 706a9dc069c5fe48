import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useEmptyLedger } from '../../support/drills.ts';
import { plantHugeFiles } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useVersionedApp } from '../../support/versioned-app.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
useEmptyLedger(database);

const drills = () =>
  rowsOf<{ outcome: string; reason: string | null; evidence: Record<string, unknown> }>(
    database.db,
    'SELECT outcome, reason, evidence FROM restore_drills ORDER BY restore_drills.id',
  );

const leftovers = () => readdir(join(`${world.archives}-data`, 'drills'));

/** Drills, but runs `script` instead of a git command that contains `word`. In it, `real "$@"` runs git. */
async function drill(except?: { word: string; script: string }) {
  const path = process.env.PATH ?? '';
  const bin = join(world.folder, 'bin');
  await mkdir(bin);
  if (except !== undefined) {
    const { word, script } = except;
    await writeFile(
      join(bin, 'git'),
      `#!/bin/sh\nreal() { PATH='${path}' git "$@"; }\ncase " $* " in\n  *' ${word} '*) ${script};;\n  *) PATH='${path}' exec git "$@";;\nesac\n`,
    );
    await chmod(join(bin, 'git'), 0o755);
  }
  return callWorker({
    ...{ databaseUrl: database.url, archives: world.archives, args: ['drill', '--all'] },
    env: { PATH: `${bin}${delimiter}${path}` },
  });
}

describe('a restore drill', () => {
  it('fails when git finds that an object is missing', async () => {
    await world.backUp();
    const id = 'ab'.repeat(20);
    const { code } = await drill({ word: 'fsck', script: `echo 'missing blob ${id}'; exit 2` });
    expect(code).toBe(1);
    expect(await drills()).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining(`git fsck: missing blob ${id}`) },
    ]);
    expect(await leftovers()).toEqual([]);
  });

  it('is proven despite objects with old defects, which it counts', async () => {
    const tree = await world.app.git('rev-parse', 'HEAD^{tree}');
    const path = join(world.folder, 'commit');
    await writeFile(
      path,
      `tree ${tree}\nauthor A <a@example.org> 1 +051800\ncommitter A <a@example.org> 1 +0000\n\nold\n`,
    );
    const id = await world.app.git('hash-object', '-t', 'commit', '-w', '--literally', path);
    await world.app.git('update-ref', 'refs/heads/old', id);
    await world.backUp();
    expect((await drill()).code).toBe(0);
    expect(await drills()).toMatchObject([{ outcome: 'proven', evidence: { defects: 1 } }]);
  });

  it('fails when the content of a checked-out file differs from its tree', async () => {
    await world.backUp();
    // The size stays the same, so that only reading the file reveals it.
    const script = `real "$@" || exit
    for word; do case $word in --work-tree=*) tree=\${word#*=};; esac; done
    case " $* " in *' -u '*) tr two TWO < "$tree/a.txt" > "$tree/new" && mv "$tree/new" "$tree/a.txt";; esac`;
    expect((await drill({ word: 'read-tree', script })).code).toBe(1);
    expect(await drills()).toMatchObject([
      {
        outcome: 'failed',
        reason: expect.stringContaining(
          'a file of the default branch is not what its tree names: a.txt',
        ),
      },
    ]);
    expect(await leftovers()).toEqual([]);
  });

  it.each([
    ['unpacks the archive', 'index-pack', 'fatal: write error: No space left on device'],
    ['writes the files', 'read-tree', 'error: file write error: No space left on device'],
  ])('is incomplete when the disk is full while git %s', async (_what, word, message) => {
    await world.backUp();
    const { code } = await drill({ word, script: `echo '${message}' >&2; exit 128` });
    expect(code).toBe(0);
    expect(await drills()).toMatchObject([
      {
        outcome: 'incomplete',
        reason: expect.stringMatching(
          /problem with this machine, not with the bundle: .*No space left on device/,
        ),
      },
    ]);
    expect(await leftovers()).toEqual([]);
  });

  it('is incomplete when the disk has too little space for the files', async () => {
    await plantHugeFiles(world.app);
    await world.backUp();
    // If the drill wrote them nevertheless, they would fill the disk of this machine.
    const { code } = await drill({ word: 'read-tree', script: 'exit 1' });
    expect(code).toBe(0);
    expect(await drills()).toMatchObject([
      {
        ...{ outcome: 'incomplete', evidence: { refs: 2, refs_recorded_in: 'database' } },
        reason: 'DATA_DIR has too little space to check out the default branch',
      },
    ]);
    expect(await leftovers()).toEqual([]);
  });
});
