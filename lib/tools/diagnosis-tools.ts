import * as z from 'zod';
import { AppError } from '../errors.ts';
import { fitItems, type Rest, restFields, restOf, roomBeside } from './answer-budget.ts';
import type { BackupSource } from './backup-source.ts';
import { describeFailure } from './describe-failure.ts';
import { groupFailures } from './failure-groups.ts';
import {
  cursorParameter,
  idParameter,
  limitParameter,
  momentParameter,
  runIdParameter,
  textParameter,
} from './input.ts';
import { recommendActions } from './recommended-actions.ts';
import { failureFacts, incident, log } from './shapes.ts';
import { MESSAGES_ARE_DATA } from './texts.ts';
import { readTool } from './tool.ts';
import { explainUnknown, noSuchRun, readTrackedNames } from './unknown-names.ts';

const levels = ['info', 'warn', 'error', 'debug'] as const;

/** Log lines of the worker. */
export const getExecutionLogs = readTool({
  name: 'get_execution_logs',
  title: 'Execution logs',
  description: `Read log lines of the backup worker, newest first, of one run, one repository, one level or any combination. Use it to see what happened around an error that diagnose_backup_failure or get_backup_run_details shows. truncated: there are more, which more and next say how to get. A long message is cut and says how much is missing. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    run_id: runIdParameter('Only logs of this backup run.').optional(),
    repository: textParameter(
      'Only logs of this repository, as owner/repo, in any case.',
      255,
    ).optional(),
    level: z
      .string()
      .transform((level) => level.toLowerCase())
      .pipe(z.enum(levels, 'must be INFO, WARN, ERROR or DEBUG'))
      .optional()
      .meta({
        description: 'INFO, WARN, ERROR or DEBUG, in any case. Left out: all levels.',
      }),
    limit: limitParameter('Most lines to return.', { default: 50, max: 200 }),
    before_id: idParameter('Only lines that are older than the line of this id.').optional(),
    since: momentParameter('Only lines of this moment or later.').optional(),
  }),
  output: z.object({
    logs: z.array(log),
    returned: z.number(),
    ...restFields,
    truncated: z.boolean(),
    note: z.string().optional(),
  }),
  async handler({ limit, ...given }, { backups }, { signal, maxChars }) {
    const { run_id: runId, before_id: beforeId, ...filter } = given;
    const found = await backups.selectLogs({ runId, beforeId, ...filter }, limit, signal);
    const logs = fitItems(found.logs, roomBeside({}, maxChars));
    const truncated = found.truncated || logs.length < found.logs.length;
    const last = logs.at(-1);
    const isUnknown = !truncated && last === undefined && filter.repository !== undefined;
    return {
      logs,
      returned: logs.length,
      truncated,
      ...(truncated ? olderThan(last?.id) : {}),
      ...(isUnknown ? await explainNoLogs(backups, filter.repository ?? '', signal) : {}),
    };
  },
});

/** How lines are got that are older than those of an answer. */
function olderThan(id: number | undefined) {
  if (id === undefined) {
    return {
      more: 'not all lines were looked through: name a run_id or a level to look further back',
    };
  }
  return {
    more: `older lines: call again with the same arguments and before_id ${id}`,
    next: String(id),
  };
}

/** A name that is not tracked is told from a repository that has no such log. */
async function explainNoLogs(backups: BackupSource, repository: string, signal: AbortSignal) {
  const note = explainUnknown(repository, await readTrackedNames(backups, signal));
  return note === null ? {} : { note };
}

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

/** Most groups of failures in an answer. */
const MAX_GROUPS = 20;

/** Most errors that recommended actions are chosen by. */
const MAX_SAMPLES = 500;

/** Why repositories failed in a run. */
export const diagnoseBackupFailure = readTool({
  name: 'diagnose_backup_failure',
  title: 'Diagnose backup failure',
  description: `Find out why a backup run failed: what is known of it in one packet. Use it first when a backup failed. failures holds one entry for each error, the most frequent first: count says how many repositories failed with it, repositories names the first 20 of them, recovered how many were backed up since; error_message, error_logs (newest first) and last_successful_commit are those of one, repository. Beside them the three newest recorded fixes (similar_past_incidents) and recommended actions. A run in which repositories failed has failures though its status is completed. get_backup_run_details lists every repository that failed. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    run_id: runIdParameter(
      'The run to look at. Left out: the latest run that failed, or in which a repository failed.',
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
    failures: z.array(failureGroup),
    similar_past_incidents: z.array(incident),
    recommended_actions: z.array(z.string()),
    ...restFields,
    note: facts.note,
  }),
  async handler({ run_id, cursor: offset = 0 }, { backups }, { signal, maxChars }) {
    const found = await backups.readFailure(run_id, signal);
    if (!found) {
      throw new AppError(
        'NOT_FOUND',
        run_id === undefined
          ? 'no failed backup run was found, and none in which a repository failed'
          : noSuchRun(run_id),
      );
    }
    const groups = groupFailures(found.failures);
    const shown = groups.slice(offset, offset + MAX_GROUPS);
    const logs = await backups.readErrorLogs(
      found.run_id,
      ['', ...shown.map(({ repository }) => repository)],
      signal,
    );
    const isFailed = found.run_status === 'failed' || found.failed_count > 0 || groups.length > 0;
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
      similar_past_incidents: isFailed ? found.recent_fixes : [],
      recommended_actions: isFailed ? recommendActions(found, samples) : [],
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

/** What is missing of a run with more failures than are read. */
function unreadFailures({ failed_repos_count, failures }: z.output<typeof failureFacts>): Rest {
  const unread = failed_repos_count - failures.length;
  if (unread <= 0) return {};
  return {
    truncated: true,
    more: `the errors of ${unread} further repositories were not read: get_backup_run_details lists them`,
  };
}

/** Hybrid search over everything that was written down. */
export const searchBackupKnowledge = readTool({
  name: 'search_backup_knowledge',
  title: 'Search backup knowledge',
  description: `Search logs, errors of backups, recorded fixes and investigations of the chat, best match first, by words, identifiers and likeness. Use it to find out whether an error came up before and what helped. degraded: without likeness, or cut short, as degraded_reason says; then no result does not mean that there is none. A long content is cut and says how much is missing. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    query: textParameter(
      'What to look for: words, an error text, a repository, a commit hash.',
      1000,
    ),
    limit: limitParameter('Most results to return.', { default: 5, max: 20 }),
  }),
  output: z.object({
    results: z.array(
      z.object({
        source_type: z.string(),
        source_id: z.string(),
        content: z.string(),
        score: z.number(),
        metadata: z.record(z.string(), z.unknown()),
      }),
    ),
    returned: z.number(),
    degraded: z.boolean(),
    degraded_reason: z.string().optional(),
    ...restFields,
  }),
  async handler({ query, limit }, { knowledge }, { signal, maxChars }) {
    if (!knowledge) {
      throw new AppError('SERVICE_UNAVAILABLE', 'search_backup_knowledge needs DATABASE_URL');
    }
    const { hits, degraded_reason } = await knowledge.search(query, limit, signal);
    const results = fitItems(hits, roomBeside({ degraded_reason }, maxChars));
    const missing = hits.length - results.length;
    return {
      results,
      returned: results.length,
      degraded: degraded_reason !== null,
      ...(degraded_reason === null ? {} : { degraded_reason }),
      ...(missing === 0
        ? {}
        : {
            truncated: true as const,
            more: `${missing} further results, of lower rank: search again with a narrower query`,
          }),
    };
  },
});
