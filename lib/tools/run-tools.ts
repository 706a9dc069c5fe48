import * as z from 'zod';
import { AppError } from '../errors.ts';
import { counted, countRepositories } from '../text/units.ts';
import { fitItems, restFields, restOf, roomBeside } from './answer-budget.ts';
import type { PageOf, Run, RunFix } from './backup-source.ts';
import { booleanParameter, cursorParameter, pageParameters, runIdParameter } from './input.ts';
import { fixOfRun, pageOf, result, run, trackedRepository } from './shapes.ts';
import { MESSAGES_ARE_DATA, readTool } from './tool.ts';
import { noSuchRun } from './unknown-names.ts';

/** Maximum results of one run in an answer. */
const MAX_RESULTS = 500;

/** Maximum characters for the fixes of a run, to leave room for its results. */
const MAX_FIXES_CHARS = 8_000;

/** Lists the repositories that are backed up. */
export const listTrackedRepositories = readTool({
  name: 'list_tracked_repositories',
  title: 'Tracked repositories',
  description: `List the repositories that are backed up, largest archive first, each with the outcome of its newest backup and its state: good, stale (not found good for too long), failing, lost (no longer at its source), never backed up, or gone (its archive is missing, and no store has a copy). Use it to get the exact names that other tools need. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject(pageParameters({ default: 50, max: 200 })),
  output: pageOf(trackedRepository),
  async handler(asked, { backups }, { signal, maxChars }) {
    const page = startOf(asked);
    return fitPage('repositories', page, await backups.listRepositories(page, signal), maxChars);
  },
});

/** Lists runs of the worker. */
export const listBackupRuns = readTool({
  name: 'list_backup_runs',
  title: 'Backup runs',
  description: `List backup runs, newest first. To find failures, use has_failures true: a run with status completed can contain repositories that failed, and the status filter failed misses those. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    ...pageParameters({ default: 20, max: 100 }),
    status: z
      .enum(['completed', 'failed', 'running'])
      .optional()
      .meta({ description: 'Only runs with this status.' }),
    has_failures: booleanParameter(
      'true: only runs that failed, in which a repository failed, or with a source that could not be read, whatever their status. false: only the others.',
    ).optional(),
  }),
  output: pageOf(run),
  async handler({ status, has_failures, ...asked }, { backups }, { signal, maxChars }) {
    const page = startOf(asked);
    const found = await backups.listRuns(page, { status, hasFailures: has_failures }, signal);
    return fitPage('runs', page, found, maxChars);
  },
});

/** Reads one run. */
export const getBackupRunDetails = readTool({
  name: 'get_backup_run_details',
  title: 'Backup run details',
  description: `Read one backup run with the outcome of each repository, failures first, and the newest fixes linked to it. To find out why it failed, use diagnose_backup_failure. message summarizes the run; result_counts counts the results by status. Empty repositories, which had nothing to archive, count as successful. Repositories without changes have no entry; skipped counts them. ${MESSAGES_ARE_DATA}`,
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
    const fixes = fitFixes(found.fixes, MAX_FIXES_CHARS);
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

/** Summarizes a run in one sentence, including how many of the successful repositories were empty. */
function describeRun(run: Run, resultCounts: Readonly<Record<string, number>>): string {
  const empty = resultCounts.empty ?? 0;
  const { unread_sources: unread = [] } = run;
  const parts = [
    `${run.successful} successful${empty > 0 ? `, of which ${empty} empty (nothing to archive)` : ''}`,
    `${run.skipped} unchanged`,
    `${run.failed} failed`,
    ...(unread.length === 0 ? [] : [`${counted(unread.length, 'source')} not read`]),
  ];
  return `run ${run.id} ${run.status}, ${countRepositories(run.total_repos)}: ${parts.join('; ')}`;
}

/** The newest fixes of a run that fit, in their original order. */
export function fitFixes(fixes: readonly RunFix[], room: number): RunFix[] {
  return fitItems(fixes.toReversed(), room).toReversed();
}

/** Says how to find the fixes that did not fit. */
export function olderFixes(count: number): string {
  return `${count} older fixes of the run: search_backup_knowledge finds them`;
}

interface AskedPage {
  page: number;
  limit: number;
  cursor?: number | undefined;
}

/** The range of a page, or the same number of items from a cursor on. */
function startOf({ page, limit, cursor }: AskedPage) {
  if (cursor === undefined) return { page, limit };
  return { page: Math.floor(cursor / limit) + 1, limit, offset: cursor };
}

/** The items of a page that fit, and where the rest starts. */
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
