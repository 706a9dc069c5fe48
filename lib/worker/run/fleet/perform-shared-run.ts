import { isDatabaseUnavailable } from '../../../database/database.ts';
import { AppError } from '../../../errors.ts';
import { findActiveRun } from '../../../records/recording/runs.ts';
import { takeMachineLease } from '../../archive/lease/machine-lease.ts';
import type { Source } from '../../base/source.ts';
import { deliverSpools } from '../../record/deliver-spools.ts';
import type { RunDeps } from '../run-deps.ts';
import type { RunReport } from '../watching/report.ts';
import { findOrStart } from './enter-run.ts';
import { explainUnreachable, takePart } from './take-part.ts';

/**
 * Joins the run that workers on several machines share, or starts it and lists its repositories: `given`, or those
 * found by discovery. If the worker that started the run was killed before it listed the repositories, another run
 * follows.
 * Refused while a worker runs alone. Throws SERVICE_UNAVAILABLE if the database is unreachable, or the archive folder
 * is not that of the run.
 */
export async function performSharedRun(
  deps: RunDeps,
  given: readonly Source[] | null,
): Promise<RunReport> {
  const lease = await takeMachineLease(deps.dataFolder);
  if ('busy' in lease) {
    if (!lease.busy) {
      throw new AppError('SERVICE_UNAVAILABLE', `DATA_DIR cannot be used: ${lease.reason}`);
    }
    const active = await needDatabase(() => findActiveRun(deps.db, deps.staleAfterMs));
    const why = 'another worker uses the same DATA_DIR';
    return { status: 'refused', active, why, holder: lease.holder };
  }
  // This run is not noted in DATA_DIR, because others continue it if this worker is killed.
  let hasEntered = false;
  try {
    const { isAway, remarks } = await deliverSpools(deps, deps.dataFolder);
    if (isAway) throw explainUnreachable();
    for (;;) {
      const entered = await needDatabase(() => findOrStart(deps, lease, given));
      const isFirst = !hasEntered;
      if ('why' in entered) {
        if (isFirst) for (const { text } of remarks) deps.display.line(text);
        return { status: 'refused', ...entered, holder: null };
      }
      hasEntered = true;
      const report = await takePart(deps, entered, given, isFirst ? remarks : []);
      if (report !== null) return report;
    }
  } finally {
    deps.watch({ type: 'closed' });
    // The run of a killed worker that is noted here is no longer active.
    lease.release(hasEntered);
  }
}

async function needDatabase<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw isDatabaseUnavailable(error) ? explainUnreachable(error) : error;
  }
}
