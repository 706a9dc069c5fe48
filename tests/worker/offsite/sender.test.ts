import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { localRepository } from '../../../lib/config/stores/store-address.ts';
import { StoreFault } from '../../../lib/stores/base/object-store.ts';
import { readArchiveRecord } from '../../../lib/worker/archive/archive.ts';
import { parseSource } from '../../../lib/worker/base/source.ts';
import { openOffsite } from '../../../lib/worker/offsite/offsite.ts';
import { silentLog } from '../../support/databases.ts';
import { createBare, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useVersionedApp } from '../../support/versioned-app.ts';

const execute = promisify(execFile);
const database = useDatabase();
const world = useVersionedApp(database);
const KEY = 'local__app.bundle';

it('two machines that push one archive at once both store it, even after BACKUP_NAMES_KEY has changed', async () => {
  await world.backUpFirst();
  const target = join(world.folder, 'target.git');
  await createBare(target);
  const recipients = [await identityToRecipient(await generateIdentity())];
  const open = async (name: string, namesKey: string) => {
    const offsite = await openOffsite({
      environment: {},
      ...{ addresses: [localRepository(target)], needed: null, bytesPerSecond: null },
      ...{ recipients, namesKey, archiveFolder: world.archives, clock: systemClock },
      ...{ dataFolder: join(world.folder, name), log: silentLog },
      signal: new AbortController().signal,
      git: {
        environment: { PATH: process.env.PATH, HOME: '/nonexistent' },
        credential: async () => null,
        beforePush: async () => undefined,
        explain: async (_, { message }) => new StoreFault('other', message),
        pauseAfter: () => null,
        findPrivacyProblem: async () => null,
      },
    });
    const [store] = offsite?.stores ?? [];
    if (offsite === null || store === undefined) throw new Error('there is no store');
    return {
      async send() {
        const record = await readArchiveRecord(world.archives, KEY);
        if (record === null) throw new Error('there is no archive');
        const source = parseSource(world.app.path, world.folder);
        const [storing] = await offsite.send(source, { key: KEY, record }, async () => undefined);
        if (storing?.status !== 'waiting') throw new Error(`it is ${storing?.status}`);
        return storing;
      },
      settle: offsite.settle,
      close: offsite.close,
      state: async () => (await offsite.ledgerOf(store).read(KEY))?.state,
    };
  };
  const first = await open('one', 'a key for names, of more than 32 characters');
  const begun = await first.send();
  await first.settle();
  expect(await begun.settled).toMatchObject({ status: 'stored' });
  await first.close();
  await cp(join(world.folder, 'one'), join(world.folder, 'two'), { recursive: true });

  await world.app.commit({ 'b.txt': 'more' });
  await world.backUp();
  const [one, two] = await Promise.all(
    ['one', 'two'].map((name) => open(name, 'another key for names, also of more than 32')),
  );
  if (one === undefined || two === undefined) throw new Error('there are no machines');
  const sent = [await one.send(), await two.send()];
  for (const { settle } of [one, two]) await settle();
  for (const { settled } of sent) expect(await settled).toMatchObject({ status: 'stored' });
  const states = [await one.state(), await two.state()];
  expect(states.map((state) => state?.number)).toEqual([2, 3]);
  for (const state of states) {
    const bytes = await execute('git', ['show', `main:${await pathOf(state?.key ?? '')}`], {
      ...{ cwd: target, encoding: 'buffer' },
    });
    expect(createHash('sha256').update(bytes.stdout).digest('hex')).toBe(state?.stored_sha256);
  }
  for (const { close } of [one, two]) await close();

  async function pathOf(key: string): Promise<string> {
    const paths = (await git(target, 'ls-tree', '-r', '--name-only', 'main')).split('\n');
    return paths.find((path) => path.startsWith(`${key}.part-`)) ?? 'nowhere';
  }
});
