import { z } from 'zod';
import { optionalText, runIdParameter, textParameter } from './input.ts';
import { recordedFix, runRequest } from './shapes.ts';
import { writeTool } from './tool.ts';

const repositoryName = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
const isRepositoryName = (text: string) =>
  repositoryName.test(text) && !text.split('/').some((part) => /^\.{1,2}$/.test(part));

/** Queues a run of the worker (spec 3, Tool behaviour 9). */
export const triggerBackupRun = writeTool(
  {
    name: 'trigger_backup_run',
    title: 'Trigger backup run',
    description:
      'Queue a backup run. The worker takes it up at its next scheduled run; nothing starts at once. While a request for the same target is pending, that one is returned with already_queued true.',
    input: z.strictObject({
      target_repo: z
        .string()
        .refine(isRepositoryName, 'must be owner/name')
        .transform((name) => name.toLowerCase())
        .optional()
        .meta({ description: 'Repository as owner/name. Left out: all tracked repositories.' }),
      reason: optionalText(
        'Why, at most 500 characters. Shown in the log of the run.',
        500,
      ).default(''),
    }),
    output: runRequest.extend({ message: z.string() }),
    async handler({ target_repo, reason }, { backups }, { signal }) {
      const target = target_repo ?? null;
      const request = await backups.requestRun({ target, reason }, signal);
      const what = target ?? 'all tracked repositories';
      const message = request.already_queued
        ? `A run of ${what} was queued already; the worker takes it up at its next scheduled run.`
        : `A run of ${what} is queued; the worker takes it up at its next scheduled run.`;
      return { ...request, message };
    },
  },
  { idempotentHint: true, openWorldHint: false },
);

/** Writes down how a failure was mended (spec 3, Tool behaviour 10). */
export const recordBackupFix = writeTool(
  {
    name: 'record_backup_fix',
    title: 'Record backup fix',
    description:
      'Store how a backup failure was mended, so that diagnose_backup_failure and search_backup_knowledge find it later.',
    input: z.strictObject({
      title: textParameter('What was mended, in one line.', 200),
      description: textParameter('The cause and what was done about it.', 10_000),
      author: textParameter('Who mended it.', 100),
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

/** Has the observatory mail a report (spec 3, Tool behaviour 11). */
export const sendBackupReport = writeTool(
  {
    name: 'send_backup_report',
    title: 'Send backup report',
    description:
      'Hand a report to the observatory, which mails it to the recipients that it is configured with. An error says why it was not taken.',
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
