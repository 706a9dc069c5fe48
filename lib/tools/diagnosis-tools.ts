import * as z from 'zod';
import { AppError } from '../errors.ts';
import { counted, countRepositories } from '../text/units.ts';
import { fitItems, type Rest, restFields, restOf, roomBeside } from './answer-budget.ts';
import type { FailureFacts } from './backup-source.ts';
import { groupFailures } from './failure-groups.ts';
import { cursorParameter, runIdParameter } from './input.ts';
import { recommendActions } from './recommended-actions.ts';
import { failureFacts, incident, openIncidents } from './shapes.ts';
import { MESSAGES_ARE_DATA, readTool } from './tool.ts';
import { noSuchRun } from './unknown-names.ts';

const facts = failureFacts.shape;

const failureGroup = z.object({
  repository: z.string(),
  count: z.number(),
  repositories: z.array(z.string()),
  error_message: z.string(),
  error_logs: z.array(z.string()),
  last_successful_commit: z.string().nullable(),
  recovered: z.number(),
});

/** Maximum groups of failures in an answer. */
const MAX_GROUPS = 20;

/** Maximum errors from which recommended actions are derived. */
const MAX_SAMPLES = 500;

/** Explains why repositories failed in a run. */
export const diagnoseBackupFailure = readTool({
  name: 'diagnose_backup_failure',
  title: 'Diagnose backup failure',
  description: `Find out why a backup run failed. Use it first when a backup failed: it returns everything that is known in one answer. failures has one entry for each error, the most frequent first: count says how many repositories failed with it, repositories names the first 20 of them, recovered says how many were backed up since; error_message, error_logs (newest first) and last_successful_commit are those of one of them, repository. It also returns the three newest recorded fixes (similar_past_incidents), recommended actions, and the incidents that are open now, which also show what is wrong besides this run (open_incidents). unread_sources are paths and addresses that the run was given and that were never read: they are no repositories. A run can have failures although its status is completed. get_backup_run_details lists every repository that failed. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    run_id: runIdParameter(
      'The run to diagnose. Left out: the latest run that failed, in which a repository failed, or with a source that could not be read.',
    ).optional(),
    cursor: cursorParameter,
  }),
  output: z.object({
    message: z.string(),
    run_id: facts.run_id,
    run_status: facts.run_status,
    failed_at: z.string().nullable(),
    run_error: facts.run_error,
    run_error_logs: z.array(z.string()),
    failed_repos_count: facts.failed_repos_count,
    unread_sources: facts.unread_sources,
    failures: z.array(failureGroup),
    similar_past_incidents: z.array(incident),
    recommended_actions: z.array(z.string()),
    open_incidents: openIncidents,
    ...restFields,
    note: facts.note,
  }),
  async handler({ run_id, cursor: offset = 0 }, { backups }, { signal, maxChars }) {
    const found = await backups.readFailure(run_id, signal);
    if (!found) {
      throw new AppError(
        'NOT_FOUND',
        run_id === undefined
          ? 'no failed backup run was found, and none in which a repository failed or a source could not be read'
          : noSuchRun(run_id),
      );
    }
    const groups = groupFailures(found.failures);
    const shown = groups.slice(offset, offset + MAX_GROUPS);
    const [logs, incidents] = await Promise.all([
      backups.readErrorLogs(
        found.run_id,
        ['', ...shown.map(({ repository }) => repository)],
        signal,
      ),
      backups.readIncidents(signal),
    ]);
    const { unread_sources: unread = [] } = found;
    const isFailed =
      found.run_status === 'failed' ||
      found.failed_count > 0 ||
      groups.length > 0 ||
      unread.length > 0;
    const samples = [
      ...groups.slice(0, MAX_SAMPLES).map(({ error_message }) => error_message),
      ...[...logs.values()].flat(),
    ];
    const packet = {
      message: describeFailure(found, groups.length),
      run_id: found.run_id,
      run_status: found.run_status,
      failed_at: isFailed ? found.ended_at : null,
      run_error: found.run_error,
      run_error_logs: logs.get('') ?? [],
      failed_repos_count: found.failed_repos_count,
      ...(unread.length === 0 ? {} : { unread_sources: unread }),
      similar_past_incidents: isFailed ? found.recent_fixes : [],
      recommended_actions: isFailed ? recommendActions(found, samples) : [],
      open_incidents: incidents,
      ...(found.note === undefined ? {} : { note: found.note }),
    };
    const entries = shown.map(({ error_message, last_successful_commit, recovered, ...group }) => ({
      ...group,
      error_message,
      error_logs: logs.get(group.repository) ?? [],
      last_successful_commit,
      recovered,
    }));
    const failures = fitItems(entries, roomBeside(packet, maxChars));
    const rest = restOf('errors', { offset, shown: failures.length, total: groups.length });
    return { ...packet, failures, ...unreadFailures(found), ...rest };
  },
});

/** What is missing when a run has more failures than are read. */
function unreadFailures({ failed_repos_count, failures }: FailureFacts): Rest {
  const unread = failed_repos_count - failures.length;
  if (unread <= 0) return {};
  return {
    truncated: true,
    more: `the errors of ${unread} further repositories were not read: get_backup_run_details lists them`,
  };
}

/** Says in one sentence how a run ended. */
function describeFailure(facts: FailureFacts, errors: number): string {
  const { run_id, run_status, failed_count, failed_repos_count, unread_sources = [] } = facts;
  const run = `run ${run_id}`;
  const unread =
    unread_sources.length === 0
      ? ''
      : `; ${counted(unread_sources.length, 'source')} could not be read`;
  if (failed_repos_count > 0) {
    const causes = errors === 1 ? 'with one error' : `with ${errors} different errors`;
    return `${run} ${ended(run_status)}; ${countRepositories(failed_repos_count)} failed, ${causes}${unread}`;
  }
  if (failed_count > 0) {
    return `${run} ${ended(run_status)} and counts ${countRepositories(failed_count)} that failed, but their results are not recorded`;
  }
  if (run_status === 'failed')
    return `${run} failed as a whole: see run_error and run_error_logs${unread}`;
  if (run_status === 'running') return `${run} is running; no repository has failed so far`;
  if (unread !== '') return `${run} ${ended(run_status)}${unread}`;
  return `${run} ${ended(run_status)}, with no failed repository: there is nothing to diagnose`;
}

function ended(status: string): string {
  if (status === 'running') return 'is running';
  return status === 'failed' ? 'failed' : 'completed';
}
