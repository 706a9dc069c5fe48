import * as z from 'zod';
import { optionalText, runIdParameter, textParameter } from './input.ts';
import { recordedFix, runRequest } from './shapes.ts';
import { writeTool } from './tool.ts';

/** Queues a backup run. */
export const triggerBackupRun = writeTool(
  {
    name: 'trigger_backup_run',
    title: 'Trigger backup run',
    description:
      'Queue a backup run of one tracked repository, or of all. Use it when somebody asks for a backup now, or to try again what failed once its cause is removed; to see how runs went, use list_backup_runs. Nothing starts at once: the worker handles the request at its next scheduled run that covers the target. If a request for the same target is already pending, it is returned with already_queued true.',
    input: z.strictObject({
      target_repo: textParameter(
        'Name of a tracked repository, as in list_tracked_repositories. Left out: all tracked repositories.',
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
      const queued = request.already_queued ? 'was already queued' : 'is queued';
      const message = `A run of ${what} ${queued}; the worker handles it at its next scheduled run that covers ${request.target_repo === null ? 'them' : 'it'}.`;
      return { ...request, message };
    },
  },
  { idempotentHint: true, openWorldHint: false },
);

/** Records how a failure was fixed. */
export const recordBackupFix = writeTool(
  {
    name: 'record_backup_fix',
    title: 'Record backup fix',
    description:
      'Record how a backup failure was fixed, so that diagnose_backup_failure and search_backup_knowledge find it later. Use it once the failure is fixed. Ask a person before you call it.',
    input: z.strictObject({
      title: textParameter('What was fixed, in one line.', 200),
      description: textParameter('The cause and what was done about it.', 10_000),
      author: textParameter('Who fixed it.', 100),
      commit_hash: textParameter('The commit that contains the change.', 100).optional(),
      affected_run_id: runIdParameter('The backup run that failed.').optional(),
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

/** Mails a report through the observatory. */
export const sendBackupReport = writeTool(
  {
    name: 'send_backup_report',
    title: 'Send backup report',
    description:
      'Send a report to the observatory, which mails it to its configured recipients. Ask a person before you call it. An error says why the report was rejected; the observatory accepts reports from this tool only with REPORTS_ACCEPT_INTERNAL=true.',
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
