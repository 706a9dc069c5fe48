import type { NewDrill } from '../../records/drills/new-drill.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted, countRepositories, formatBytes } from '../../text/units.ts';
import type { DrillReport } from './drill-session.ts';

const verdicts = { proven: 'proven', failed: 'FAILED', incomplete: 'incomplete' } as const;

/** Describes a drill in one line for people. */
export function describeDrill(drill: NewDrill): string {
  const { repository, version, storage, outcome, reason, durationMs, bytes, evidence } = drill;
  const which = version === null ? '' : `, version ${version}`;
  const what = `${verdicts[outcome]}: ${cleanText(repository, 300)}${which} from ${storage}`;
  if (reason !== null) return cleanText(`${what}: ${reason}`);
  if (evidence.empty === true)
    return `proven: ${cleanText(repository, 300)} is empty: its source has no refs, so there is nothing to restore`;
  const seconds = (durationMs / 1_000).toFixed(1);
  const refs = counted(evidence.refs ?? 0, 'ref');
  return `${what} (${refs}, ${counted(evidence.objects ?? 0, 'object')}, ${counted(evidence.tree_files ?? 0, 'file')}; ${formatBytes(bytes)} in ${seconds} s)`;
}

/** Describes a drill as one of a run's JSON lines. */
export function drillEvent(drill: NewDrill, runId: number | null): string {
  return JSON.stringify({
    ...{ event: 'drill', at: drill.startedAt, run_id: runId, repository: drill.repository },
    ...{ version: drill.version, storage: drill.storage, outcome: drill.outcome },
    ...{ reason: drill.reason, duration_ms: drill.durationMs, bytes: drill.bytes },
  });
}

/** Summarizes a session of drills in a line or two. */
export function describeDrills(report: DrillReport): string {
  const { proven, failed, incomplete, isBudgetUsed, stopped } = report;
  const all = proven + failed + incomplete;
  const ends = [
    ...(isBudgetUsed ? ['The budget is used up; the remaining repositories come next time.'] : []),
    ...(stopped === null
      ? []
      : [`Stopped: ${stopped.replace(/\.$/, '')}${stopped.endsWith('?') ? '' : '.'}`]),
  ];
  const line =
    all === 0
      ? 'No restore drill was done.'
      : `Drilled ${countRepositories(all)}: ${proven} proven, ${failed} failed, ${incomplete} incomplete.`;
  return [line, ...ends].join(' ');
}
