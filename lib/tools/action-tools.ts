import * as z from 'zod';
import { optionalText, runIdParameter, textParameter } from './input.ts';
import { recordedFix, runRequest } from './shapes.ts';
import { writeTool } from './tool.ts';

/** Queues a run of the worker. */
export const triggerBackupRun = writeTool(
  {
    name: 'trigger_backup_run',
    title: 'Trigger backup run',
    description:
      'Queue a backup run of one tracked repository, or of all. The worker takes it up at its next scheduled run that covers it; nothing starts at once. While a request for the same target is pending, that one is returned with already_queued true.',
    input: z.strictObject({
      target_repo: textParameter(
        'Name of a tracked repository, as list_tracked_repositories tells it. Left out: all tracked repositories.',
        500,
      ).optional(),
      reason: optionalText(
        'Why, at most 500 characters. Shown in the log of the run.',
        500,
      ).default(''),
    }),
    output: runRequest.extend({ message: z.string() }),
    async handler({ target_repo, reason }, { backups }, { signal }) {
      const request = await backups.requestRun({ target: target_repo ?? null, reason }, signal);
      const what = request.target_repo ?? 'all tracked repositories';
      const queued = request.already_queued ? 'was queued already' : 'is queued';
      const message = `A run of ${what} ${queued}; the worker takes it up at its next scheduled run that covers ${request.target_repo === null ? 'them' : 'it'}.`;
      return { ...request, message };
    },
  },
  { idempotentHint: true, openWorldHint: false },
);

/** Writes down how a failure was fixed. */
export const recordBackupFix = writeTool(
  {
    name: 'record_backup_fix',
    title: 'Record backup fix',
    description:
      'Store how a backup failure was fixed, so that diagnose_backup_failure and search_backup_knowledge find it later. Use it once the failure is fixed; ask a person before you call it.',
    input: z.strictObject({
      title: textParameter('What was fixed, in one line.', 200),
      description: textParameter('The cause and what was done about it.', 10_000),
      author: textParameter('Who fixed it.', 100),
      commit_hash: textParameter('The commit that holds the change.', 100).optional(),
      affected_run_id: runIdParameter('The backup run that had failed.').optional(),
    }),
    output: recordedFix.extend({ status: z.literal('RECORDED_IN_DATABASE') }),
    async handler({ commit_hash, affected_run_id, ...fix }, { backups }, { signal }) {
      const recorded = await backups.recordFix(
        { ...fix, commitHash: commit_hash ?? '', affectedRunId: affected_run_id ?? null },
        signal,
      );
      return { ...recorded, status: 'RECORDED_IN_DATABASE' as const };
    },
  },
  { idempotentHint: false, openWorldHint: false },
);

/** Has the observatory mail a report. */
export const sendBackupReport = writeTool(
  {
    name: 'send_backup_report',
    title: 'Send backup report',
    description:
      'Hand a report to the observatory, which mails it to the recipients that it is configured with. Ask a person before you call it. An error says why it was not taken; the observatory takes reports from here only with REPORTS_ACCEPT_INTERNAL=true.',
    input: z.strictObject({
      subject: textParameter('Subject of the mail.', 200),
      content_markdown: textParameter('The report in Markdown.', 100_000),
    }),
    output: z.object({ subject: z.string(), http_status: z.number(), message: z.string() }),
    async handler(report, { reports }, { signal }) {
      const { status, message } = await reports.send(report, signal);
      return { subject: report.subject, http_status: status, message };
    },
  },
  { idempotentHint: false, openWorldHint: true },
);
