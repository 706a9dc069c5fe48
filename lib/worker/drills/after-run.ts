import type { OutputStream } from '../base/display.ts';
import { type DrillDeps, performDrills } from './drill-session.ts';
import { describeDrill, describeDrills, drillEvent } from './drill-text.ts';

/** Options of the drills after a run. */
export interface DrillsAfterRun {
  budgetMs: number;
  stdout: OutputStream;
  isJson: boolean;
}

/**
 * Drills the repositories that are due, after a run has ended and released its locks. The outcome never changes the
 * results of the run. `runId`: null if the run has no number yet.
 */
export async function drillAfterRun(
  deps: DrillDeps,
  runId: number | null,
  { budgetMs, stdout, isJson }: DrillsAfterRun,
): Promise<void> {
  const { display, log, signal } = deps;
  if (signal.aborted) return;
  try {
    const done = await performDrills(deps, {
      ...{ only: null, isForced: false, identityFile: null, budgetMs, runId },
      onDrill(drill) {
        if (isJson) stdout.write(`${drillEvent(drill, runId)}\n`);
        else display.line(`restore drill: ${describeDrill(drill)}`);
      },
    });
    const isQuiet = done.proven + done.failed + done.incomplete === 0 && done.stopped === null;
    if (!isQuiet && !isJson) display.line(describeDrills(done));
  } catch (error) {
    if (signal.aborted) return;
    log.error('the restore drills after a run could not be done', { error });
  } finally {
    display.clear();
  }
}
