import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseNote } from '../../../lib/archives/base/note.ts';
import { type S3Request, type S3Server, startS3Server } from '../../support/s3-server.ts';
import { runScript, startScript } from '../../support/script.ts';
import { createRandom } from '../crash/kill-repeatedly.ts';
import { isLong, seed } from '../size.ts';
import { createWorld, untilQuiet, type World } from '../worker/world.ts';
import { createStoreLedger, type StoreLedger } from './store-ledger.ts';

// Kills a worker at a request to its store: with --long at each request of a run, otherwise at some.

const KILLS = 4;
/** Large enough that some of it is uploaded in parts. */
const LARGE_BYTES = 9 * 2 ** 20;

describe('a worker that is killed while storing', () => {
  it.each(['before', 'after'] as const)(
    'loses nothing if that happens %s a request is handled',
    async (when) => {
      const server = await startS3Server();
      onTestFinished(server.close);
      for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
      const world = await createWorld({ incrementsFrom: '0', keep: '7d all' });
      onTestFinished(world.close);
      const identity = await generateIdentity();
      const address = server.address('kept');
      Object.assign(world.run.env, server.env, {
        BACKUP_STORES: address,
        BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity),
        BACKUP_NAMES_KEY: 'a key for the names of this store, long enough',
      });
      const ledger = await createStoreLedger(address, identity, join(world.folder, 'reader'));
      await killAtRequests(when, world, server, ledger);
    },
  );
});

async function killAtRequests(
  when: 'before' | 'after',
  world: World,
  server: S3Server,
  ledger: StoreLedger,
): Promise<void> {
  const random = createRandom(`store, ${when}`);
  await change(world);
  await run(world);
  await change(world);
  server.takeRequests();
  await run(world);
  const count = server.takeRequests().length;
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const chosen = isLong ? all : all.sort(() => random() - 0.5).slice(0, KILLS);
  for (const at of chosen) {
    try {
      await change(world);
      await killAt(when, at, world, server);
      await ledger.check();
      await run(world);
      const newest = await ledger.check();
      const path = join(world.run.env.BACKUP_ARCHIVE_PATH ?? '', 'local__app.bundle.json');
      const note = parseNote(await readFile(path, 'utf8'));
      expect(parseNote(newest?.note ?? '')?.versions).toEqual(note?.versions);
    } catch (error) {
      throw new Error(`${when} request ${at} of ${count}, --seed ${seed}: ${error}`, {
        cause: error,
      });
    }
  }
}

async function change({ source }: World): Promise<void> {
  await writeFile(join(source.path, 'large'), randomBytes(LARGE_BYTES));
  await source.git('add', '.');
  await source.commit({ 'a.txt': randomBytes(8).toString('hex') }, 'change');
}

async function run(world: World): Promise<void> {
  const ended = await runScript('worker', world.run);
  expect(ended, ended.stdout + ended.stderr).toMatchObject({ code: 0 });
}

/** Kills the worker at its nth request, either before or after the request is handled. */
async function killAt(
  when: 'before' | 'after',
  nth: number,
  world: World,
  server: S3Server,
): Promise<void> {
  const worker = startScript('worker', world.run);
  let first: number | null = null;
  let killed = 0;
  server.fail(({ number }: S3Request) => {
    first ??= number;
    if (number - first + 1 < nth) return undefined;
    killed++;
    worker.child.kill('SIGKILL');
    return when === 'before' || number - first + 1 > nth ? 'cut' : 'answer lost';
  });
  await worker.finished;
  server.fail(null);
  expect(killed).toBeGreaterThan(0);
  await untilQuiet(world);
}
