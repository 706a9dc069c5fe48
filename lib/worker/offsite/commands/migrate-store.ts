import { join, resolve } from 'node:path';
import * as z from 'zod';
import { archivePath, archiveVariables } from '../../../config/archives.ts';
import { databaseVariables } from '../../../config/database.ts';
import { gitHostVariables } from '../../../config/git-host.ts';
import { readConfig } from '../../../config/read.ts';
import { storeVariables } from '../../../config/stores.ts';
import { AppError } from '../../../errors.ts';
import { checkGit } from '../../../git/git-version.ts';
import { describeHolder } from '../../../processes/lock-holder.ts';
import { StoreFault } from '../../../stores/base/object-store.ts';
import { isRootArchive } from '../../../stores/git/parts.ts';
import { openStores } from '../../../stores/open-stores.ts';
import { counted } from '../../../text/units.ts';
import { takeMachineLease } from '../../archive/lease/machine-lease.ts';
import { askToOverwrite } from '../../base/ask-to-overwrite.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import { openGitAccess } from '../destination/git-store-access.ts';
import { addressOf, readTarget } from '../destination/target.ts';
import { openNaming } from '../offsite.ts';
import { createSender, type Storing } from '../sender.ts';
import {
  findFilesNotMigrated,
  isPublished,
  type MigratedArchive,
  readArchives,
} from './migrated-archives.ts';
import type { MigrateStoreCommand } from './store-commands.ts';
import { createStoreReport, type StoreReport } from './store-report.ts';

const REFUSED = 75;

const variables = z.object({
  ...archiveVariables.shape,
  ...gitHostVariables.shape,
  ...storeVariables.pick({ BACKUP_AGE_RECIPIENTS: true, BACKUP_NAMES_KEY: true }).shape,
  DATA_DIR: databaseVariables.shape.DATA_DIR,
});

/** Migrates the destination to the layout `parts`, and returns the exit code. Throws AppError or ConfigError. */
export async function migrateStore(
  options: WorkerOptions,
  { isConfirmed }: MigrateStoreCommand,
): Promise<number> {
  const { environment, folder, signal, io } = options;
  const config = readConfig(variables, environment);
  const target = readTarget(config.BACKUP_REPO_PATH, folder);
  if (target === null) throw new AppError('BAD_REQUEST', 'BACKUP_REPO_PATH is not set');
  if (config.BACKUP_REPO_LAYOUT === 'files') {
    throw new AppError('BAD_REQUEST', 'BACKUP_REPO_LAYOUT is files: remove the variable first');
  }
  await checkGit(environment, signal);
  const dataFolder = resolve(config.DATA_DIR);
  // No run may change the archives during the migration.
  const lease = await takeMachineLease(dataFolder);
  if ('busy' in lease) {
    const { busy, reason, holder } = lease;
    const worker =
      holder === null ? 'a worker is running' : `a worker is running, ${describeHolder(holder)}`;
    io.stderr.write(`Not migrated: ${busy ? worker : reason}\n`);
    return lease.busy ? REFUSED : 1;
  }
  const address = addressOf(target);
  const report = createStoreReport(io.stdout, address.text);
  try {
    const names = { recipients: config.BACKUP_AGE_RECIPIENTS };
    const naming = await openNaming({ ...names, namesKey: config.BACKUP_NAMES_KEY ?? null });
    await migrate(
      options,
      { address, dataFolder, isConfirmed, report, ...naming },
      archivePath(config),
    );
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    report.fault(error.message);
  } finally {
    lease.release(false);
  }
  return report.faults() === 0 ? 0 : 1;
}

interface Migration extends Awaited<ReturnType<typeof openNaming>> {
  address: ReturnType<typeof addressOf>;
  dataFolder: string;
  isConfirmed: boolean;
  report: StoreReport;
}

async function migrate(
  options: WorkerOptions,
  { address, dataFolder, isConfirmed, report, naming, cipher }: Migration,
  archiveFolder: string,
): Promise<void> {
  const { environment, clock, signal, io } = options;
  const onRemark = (text: string) => void io.stderr.write(`${text}\n`);
  const access = openGitAccess(options, onRemark);
  const problem = await access.findPrivacyProblem(address);
  // What is already published there may stay published.
  const beforePush = problem === null ? access.beforePush : async () => undefined;
  const [store] = await openStores([address], {
    ...{ environment, folder: join(dataFolder, 'stores'), bytesPerSecond: null },
    ...{ clock, signal, onRemark },
    git: () => ({ ...access, beforePush, mayHaveFiles: true }),
  });
  const repository = store?.repository ?? null;
  if (store === undefined || repository === null) throw new Error('no repository was opened');
  try {
    const { files } = await repository.inspect();
    const roots = [...files.keys()].filter(isRootArchive);
    const { archives, faults } = await readArchives(archiveFolder, signal);
    for (const fault of faults) report.fault(fault);
    await confirm(
      options,
      isConfirmed,
      `push ${counted(archives.length, 'archive')} to ${address.text} in parts, and remove ${counted(roots.length, 'file')} from its root`,
    );
    const published = new Set(
      archives.filter((one) => isPublished(one, files)).map(({ name }) => name),
    );
    const sender = createSender(store, {
      ...{ naming, cipher, archiveFolder, clock, signal },
      findPrivateProblem: async (_, { name }) =>
        problem === null || published.has(name)
          ? null
          : `the repository may be private, and the destination is not confirmed private: ${problem}`,
    });
    const sent: { archive: MigratedArchive; storing: Storing }[] = [];
    for (const archive of archives) {
      const source = { name: archive.name, location: '', isLocal: true, protocols: '', host: null };
      const note = async (_: string, text: string) => report.say(`${archive.name}: ${text}`);
      sent.push({ archive, storing: await sender.send(source, archive.kept, note) });
    }
    const good = sent.filter(({ storing }) => storing.status !== 'failed');
    const keys = new Set(good.map(({ archive }) => archive.kept.key));
    const left = findFilesNotMigrated(roots, keys, (await repository.inspect()).files, naming);
    if (left.length === 0) await repository.removeFiles(roots);
    await sender.settle();
    for (const { archive, storing } of sent) {
      const end = storing.status === 'waiting' ? await storing.settled : storing;
      if (end.status === 'failed') report.fault(`${archive.name}: ${end.reason}`);
    }
    // Nothing was waiting, so nothing was committed.
    if (report.faults() === 0) await repository.commit();
    for (const path of left) report.fault(`${path} does not belong to an archive that was pushed`);
    const what = `${counted(good.length, 'archive')} of ${sent.length} in parts`;
    report.say(
      left.length === 0
        ? `${what}, ${counted(roots.length, 'file')} removed from the root`
        : `${what}; ${counted(roots.length, 'file')} at the root kept, because of those named above`,
    );
  } finally {
    await repository.close();
  }
}

async function confirm(options: WorkerOptions, isConfirmed: boolean, what: string): Promise<void> {
  if (isConfirmed) return;
  const isAgreed = await askToOverwrite(options, `This will ${what}. Go on?`);
  if (isAgreed === true) return;
  throw new AppError(
    'CONFLICT',
    isAgreed === null ? `this will ${what}: give --yes` : 'nothing was changed',
  );
}
