import * as z from 'zod';
import { momentParameter } from '../text/moment.ts';
import { fitItems, restFields, roomBeside } from './answer-budget.ts';
import type { BackupSource } from './backup-source.ts';
import { idParameter, limitParameter, runIdParameter, textParameter } from './input.ts';
import { log } from './shapes.ts';
import { MESSAGES_ARE_DATA, readTool } from './tool.ts';
import { explainUnknown, readTrackedNames } from './unknown-names.ts';

const levels = ['info', 'warn', 'error', 'debug'] as const;

/** Reads log lines of the worker. */
export const getExecutionLogs = readTool({
  name: 'get_execution_logs',
  title: 'Execution logs',
  description: `Read log lines of the backup worker, newest first, of one run, one repository, one level or any combination. Use it to see what happened around an error from diagnose_backup_failure or get_backup_run_details. If truncated, there are more lines; more and next say how to get them. A long message is cut and says how much is missing. ${MESSAGES_ARE_DATA}`,
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
    limit: limitParameter('Maximum number of lines.', { default: 50, max: 200 }),
    before_id: idParameter('Only lines older than the line with this id.').optional(),
    since: momentParameter('Only lines from this time on.').optional(),
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

/** Says how to get lines older than those of an answer. */
function olderThan(id: number | undefined) {
  if (id === undefined) {
    return {
      more: 'not all lines were searched: give a run_id or a level to search further back',
    };
  }
  return {
    more: `older lines: call again with the same arguments and before_id ${id}`,
    next: String(id),
  };
}

/** Names similar repositories if no repository with this name is tracked. */
async function explainNoLogs(backups: BackupSource, repository: string, signal: AbortSignal) {
  const note = explainUnknown(repository, await readTrackedNames(backups, signal));
  return note === null ? {} : { note };
}
