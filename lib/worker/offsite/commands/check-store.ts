import * as z from 'zod';
import { gitHostVariables } from '../../../config/git-host.ts';
import { readConfig } from '../../../config/read.ts';
import { type StoreAddress, storeId } from '../../../config/stores/store-address.ts';
import { storeVariables } from '../../../config/stores.ts';
import { README_KEY } from '../../../stores/base/layout.ts';
import { FilesLayout } from '../../../stores/git/session.ts';
import { counted, formatBytes } from '../../../text/units.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import { createDisplay, type Display } from '../../base/display.ts';
import { addressOf, readTarget } from '../destination/target.ts';
import { type CheckCounts, createArchiveCheck } from './check-archive.ts';
import { type CommandStore, withEachStore } from './open-for-command.ts';
import type { CheckStoreCommand } from './store-commands.ts';
import type { StoreReport } from './store-report.ts';

const variables = z.object({
  ...storeVariables.pick({ BACKUP_STORES: true }).shape,
  ...gitHostVariables.pick({ BACKUP_REPO_PATH: true, BACKUP_REPO_LAYOUT: true }).shape,
});

/** How many foreign keys are named. */
const MAX_NAMED = 20;

/** Checks stores and returns the exit code: 1 if something is wrong. Throws AppError or ConfigError. */
export function checkStores(options: WorkerOptions, command: CheckStoreCommand): Promise<number> {
  const display = createDisplay(options.io.stderr, options.io.isTerminal);
  const stores = command.store === null ? findStores(options) : [command.store];
  return withEachStore(options, stores, command.identityFile, async (store, report) => {
    try {
      await checkStore(store, command, report, display);
    } catch (error) {
      // The layout of earlier releases has nothing to compare with, but a user who names such a store wants to know.
      if (!(error instanceof FilesLayout) || command.store !== null) throw error;
      report.say(error.message);
    } finally {
      display.clear();
    }
  });
}

/** Where a run stores archives: BACKUP_STORES, and the git destination. Throws ConfigError. */
function findStores({ environment, folder }: WorkerOptions): StoreAddress[] {
  const config = readConfig(variables, environment);
  const target = readTarget(config.BACKUP_REPO_PATH, folder);
  const stores = config.BACKUP_STORES;
  if (target === null || config.BACKUP_REPO_LAYOUT === 'files') return stores;
  const destination = addressOf(target);
  const isNamed = stores.some((one) => storeId(one) === storeId(destination));
  return isNamed ? stores : [...stores, destination];
}

async function checkStore(
  from: CommandStore,
  { repository, isDeep }: CheckStoreCommand,
  report: StoreReport,
  display: Display,
): Promise<void> {
  await checkReadme(from, report);
  const check = createArchiveCheck(from, isDeep, report);
  let foreign = 0;
  for await (const listed of from.list(repository)) {
    if ('archive' in listed) {
      await check.run(listed.archive);
      const { archives, objects } = check.counts;
      display.footer([`${counted(archives, 'archive')}, ${counted(objects, 'object')} checked`]);
    } else if (++foreign <= MAX_NAMED) report.say(`not part of a backup: ${listed.foreign}`);
  }
  if (repository === null) await check.findLost();
  if (check.counts.archives === 0) {
    report.fault(
      repository === null
        ? 'it has no archive: nothing was stored there yet, it is the wrong store, or it was emptied'
        : `it has no archive of ${repository}`,
    );
  }
  display.clear();
  if (foreign > MAX_NAMED) report.say(`not part of a backup: ${foreign} keys in all`);
  report.say(summarize(check.counts, isDeep, report.faults()));
}

async function checkReadme({ store }: CommandStore, report: StoreReport): Promise<void> {
  for await (const { key } of store.objects.list(README_KEY)) if (key === README_KEY) return;
  report.fault(`${README_KEY} is missing: is it the right store?`);
}

function summarize(counts: CheckCounts, isDeep: boolean, faults: number): string {
  const { archives, states, objects, bytes, unneeded, unneededBytes } = counts;
  const what = [counted(archives, 'archive'), counted(states, 'state')];
  const stored = `${counted(objects, 'object')} of ${formatBytes(bytes)}`;
  const read = isDeep ? ', each of them read' : '';
  const spare =
    unneeded === 0
      ? ''
      : `; no state needs ${counted(unneeded, 'object')} of ${formatBytes(unneededBytes)}, see \`store prune\``;
  const whole = isDeep
    ? 'everything is there'
    : 'everything is there by name and size (--deep reads it)';
  const result = faults === 0 ? whole : counted(faults, 'fault');
  return `${what.join(', ')}, ${stored}${read}: ${result}${spare}`;
}
