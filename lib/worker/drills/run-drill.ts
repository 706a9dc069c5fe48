import { resolve } from 'node:path';
import * as z from 'zod';
import { archivePath, archiveVariables } from '../../config/archives.ts';
import { gitHostVariables } from '../../config/git-host.ts';
import { readConfig } from '../../config/read.ts';
import { storeVariables } from '../../config/stores.ts';
import { workerVariables } from '../../config/worker.ts';
import { AppError } from '../../errors.ts';
import { commandAlertVariables, raiseAfterCommand } from '../base/command-alerts.ts';
import { contextVariables, type WorkerOptions, withDatabase } from '../base/command-context.ts';
import { readTarget } from '../offsite/destination/target.ts';
import type { DrillCommand } from './drill-commands.ts';
import { performDrills } from './drill-session.ts';
import { describeDrill, describeDrills } from './drill-text.ts';

const drillVariables = z.object({
  ...contextVariables,
  ...commandAlertVariables.shape,
  ...archiveVariables.shape,
  ...gitHostVariables.shape,
  ...storeVariables.shape,
  DRILL_BUDGET_MINUTES: workerVariables.shape.DRILL_BUDGET_MINUTES,
});

/** Drills archives and returns the exit code: 1 if one cannot be restored. Throws AppError or ConfigError. */
export async function runDrill(options: WorkerOptions, command: DrillCommand): Promise<number> {
  const { io, environment, folder } = options;
  const config = readConfig(drillVariables, environment);
  const budgetMs = budgetOf(command, config.DRILL_BUDGET_MINUTES);
  const target = readTarget(config.BACKUP_REPO_PATH, folder);
  return withDatabase(
    options,
    config,
    async (context) => {
      const deps = {
        ...context,
        ...{ target, layout: config.BACKUP_REPO_LAYOUT ?? null },
        archiveFolder: archivePath(config),
        dataFolder: resolve(config.DATA_DIR),
        signingSecret: config.CREDENTIALS_ENCRYPTION_KEY,
        stores: { addresses: config.BACKUP_STORES, recipients: config.BACKUP_AGE_RECIPIENTS },
      };
      const report = await performDrills(deps, {
        only: command.repository,
        isForced: command.isAll || command.repository !== null,
        ...{ budgetMs, identityFile: command.identityFile, runId: null },
        onDrill: (drill) => io.stdout.write(`${describeDrill(drill)}\n`),
      });
      io.stdout.write(`${describeDrills(report)}\n`);
      await raiseAfterCommand(context, config);
      return report.failed > 0 || report.stopped !== null || options.signal.aborted ? 1 : 0;
    },
    { mayBeAway: true },
  );
}

/** Null for no limit. Throws BAD_REQUEST. */
function budgetOf(command: DrillCommand, usual: number): number | null {
  const { repository, isAll, budgetMinutes } = command;
  if (budgetMinutes !== null) return budgetMinutes * 60_000;
  if (repository !== null || isAll) return null;
  if (usual > 0) return usual * 60_000;
  throw new AppError('BAD_REQUEST', 'DRILL_BUDGET_MINUTES is 0: give --budget, --repo or --all');
}
