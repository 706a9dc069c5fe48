import { z } from 'zod';
import { AppError } from '../platform/errors.ts';
import { cutText } from './cut-text.ts';
import { pageParameters, runIdParameter } from './input.ts';
import { fixOfRun, pageOf, result, run, trackedRepository, truncated } from './shapes.ts';
import { readTool } from './tool.ts';

/** Most results of one run in an answer. */
const MAX_RESULTS = 1_000;

/** What is backed up (spec 3, Tools). */
export const listTrackedRepositories = readTool({
  name: 'list_tracked_repositories',
  title: 'Tracked repositories',
  description:
    'List the repositories that are backed up, largest archive first, each with the outcome of its newest backup.',
  input: z.strictObject(pageParameters({ default: 50, max: 200 })),
  output: pageOf(trackedRepository),
  handler: (page, { backups }, { signal }) => backups.listRepositories(page, signal),
});

/** Runs of the worker (spec 3, Tools). */
export const listBackupRuns = readTool({
  name: 'list_backup_runs',
  title: 'Backup runs',
  description:
    'List backup runs, newest first. A completed run may still hold repositories that failed: see its failed count.',
  input: z.strictObject({
    ...pageParameters({ default: 20, max: 100 }),
    status: z
      .enum(['completed', 'failed', 'running'])
      .optional()
      .meta({ description: 'Only runs of this status.' }),
  }),
  output: pageOf(run),
  handler: ({ status, ...page }, { backups }, { signal }) => backups.listRuns(page, status, signal),
});

/** One run (decisions 6). */
export const getBackupRunDetails = readTool({
  name: 'get_backup_run_details',
  title: 'Backup run details',
  description:
    'Read one backup run with the outcome of each repository and the fixes that are linked to it. Repositories without changes have no entry: skipped counts them. At most 1,000 repositories; truncated when there are more.',
  input: z.strictObject({ run_id: runIdParameter('Id of the backup run.') }),
  output: z.object({
    run,
    results: z.array(result),
    fixes: z.array(fixOfRun),
    truncated,
    note: z.string().optional(),
  }),
  async handler({ run_id }, { backups }, { signal }) {
    const found = await backups.readRun(run_id, signal);
    if (!found) throw new AppError('NOT_FOUND', `backup run ${run_id} does not exist`);
    const results = found.results
      .slice(0, MAX_RESULTS)
      .map((result) => ({ ...result, error_message: cutText(result.error_message) }));
    return {
      ...found,
      results,
      ...(results.length < found.results.length ? { truncated: true as const } : {}),
    };
  },
});
