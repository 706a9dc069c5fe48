import * as z from 'zod';
import { AppError } from '../errors.ts';
import { fitItems, restFields, restOf, roomBeside } from './answer-budget.ts';
import type { PageOf } from './backup-source.ts';
import { describeRun } from './describe-run.ts';
import { booleanParameter, cursorParameter, pageParameters, runIdParameter } from './input.ts';
import { fitFixes, olderFixes } from './run-fixes.ts';
import { fixOfRun, pageOf, result, run, trackedRepository } from './shapes.ts';
import { MESSAGES_ARE_DATA } from './texts.ts';
import { readTool } from './tool.ts';
import { noSuchRun } from './unknown-names.ts';

/** Most results of one run in an answer. */
const MAX_RESULTS = 500;

/** Room for the fixes of a run beside its results. */
const FIXES_CHARS = 8_000;

/** What is backed up. */
export const listTrackedRepositories = readTool({
  name: 'list_tracked_repositories',
  title: 'Tracked repositories',
  description: `List the repositories that are backed up, largest archive first, each with the outcome of its newest backup. Use it for the exact names that other tools take. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject(pageParameters({ default: 50, max: 200 })),
  output: pageOf(trackedRepository),
  async handler(asked, { backups }, { signal, maxChars }) {
    const page = startOf(asked);
    return fitPage('repositories', page, await backups.listRepositories(page, signal), maxChars);
  },
});

/** Runs of the worker. */
export const listBackupRuns = readTool({
  name: 'list_backup_runs',
  title: 'Backup runs',
  description: `List backup runs, newest first. To find failures ask for has_failures true: a run whose status is completed may hold repositories that failed, which status failed leaves out. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    ...pageParameters({ default: 20, max: 100 }),
    status: z
      .enum(['completed', 'failed', 'running'])
      .optional()
      .meta({ description: 'Only runs of this status.' }),
    has_failures: booleanParameter(
      'true: only runs that failed or in which a repository failed, whatever their status. false: only the others.',
    ).optional(),
  }),
  output: pageOf(run),
  async handler({ status, has_failures, ...asked }, { backups }, { signal, maxChars }) {
    const page = startOf(asked);
    const found = await backups.listRuns(page, { status, hasFailures: has_failures }, signal);
    return fitPage('runs', page, found, maxChars);
  },
});

/** One run. */
export const getBackupRunDetails = readTool({
  name: 'get_backup_run_details',
  title: 'Backup run details',
  description: `Read one backup run with the outcome of each repository, those that failed first, and the newest fixes that are linked to it. Use diagnose_backup_failure for why it failed. message sums it up; result_counts counts the results of each status: empty ones, of which there was nothing to archive, count as successful. Repositories without changes have no entry: skipped counts them. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    run_id: runIdParameter('Id of the backup run.'),
    cursor: cursorParameter,
  }),
  output: z.object({
    message: z.string(),
    run,
    result_counts: z.record(z.string(), z.number()),
    results: z.array(result),
    fixes: z.array(fixOfRun),
    ...restFields,
    note: z.string().optional(),
  }),
  async handler({ run_id, cursor: offset = 0 }, { backups }, { signal, maxChars }) {
    const found = await backups.readRun(run_id, { offset, limit: MAX_RESULTS }, signal);
    if (!found) throw new AppError('NOT_FOUND', noSuchRun(run_id));
    const { run, result_counts } = found;
    const fixes = fitFixes(found.fixes, FIXES_CHARS);
    const missing = found.fixes_count - fixes.length;
    const notes = [found.note, missing > 0 ? `${olderFixes(missing)}.` : undefined];
    const note = notes.filter((text) => text !== undefined).join(' ');
    const [shownRun = run] = fitItems([run], 0);
    const beside = {
      message: describeRun(run, result_counts),
      run: shownRun,
      result_counts,
      fixes,
      ...(note === '' ? {} : { note }),
    };
    const results = fitItems(found.results, roomBeside(beside, maxChars));
    const total = Object.values(result_counts).reduce((sum, count) => sum + count, 0);
    return { ...beside, results, ...restOf('results', { offset, shown: results.length, total }) };
  },
});

interface AskedPage {
  page: number;
  limit: number;
  cursor?: number | undefined;
}

/** A page, or as much from a cursor on. */
function startOf({ page, limit, cursor }: AskedPage) {
  if (cursor === undefined) return { page, limit };
  return { page: Math.floor(cursor / limit) + 1, limit, offset: cursor };
}

/** A page as far as there is room for its items, with where the rest begins. */
function fitPage<Item>(
  what: string,
  { page, limit, offset = (page - 1) * limit }: ReturnType<typeof startOf>,
  { data: found, pagination, ...bound }: FoundPage<Item>,
  maxChars: number,
) {
  const data = fitItems(found, roomBeside({ pagination, ...bound }, maxChars));
  const rest = restOf(what, { offset, shown: data.length, total: pagination.total_items });
  return { data, pagination, ...bound, ...rest };
}

type FoundPage<Item> = Partial<Pick<PageOf<typeof run>, 'truncated' | 'more' | 'next'>> &
  Pick<PageOf<typeof run>, 'pagination'> & { data: Item[] };
