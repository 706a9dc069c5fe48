import { archiveKey } from '../../archives/base/archive-name.ts';
import { readLastDurations } from '../../records/recording/durations.ts';
import { cleanText } from '../../text/clean-text.ts';
import { countRepositories, formatBytes } from '../../text/units.ts';
import { readArchiveRecord } from '../archive/archive.ts';
import type { OutputStream } from '../base/display.ts';
import type { Source } from '../base/source.ts';
import { openHostAccess } from '../logins/host-access.ts';
import { type Finding, findSources } from './find-sources.ts';
import { longestFirst } from './order.ts';
import type { RunDeps } from './run-deps.ts';
import { selectSources } from './selection/select.ts';

/** What a run would do with a repository. */
interface PlannedRepository {
  repository: string;
  /** `new`: it has no archive. `check`: its archive is rewritten if the repository changed. */
  plan: 'new' | 'check' | 'fail' | 'leave out';
  why: string;
}

/** A dry run has no watchers. */
type DryRunDeps = Omit<RunDeps, 'watch'>;

/** The output format of a dry run. */
interface DryRunOutput {
  stdout: OutputStream;
  /** Whether to print JSON, one object per line. */
  isJson: boolean;
}

/**
 * Prints what a run of `given`, or of what discovery finds, would do, in the order of the run. Records no run and
 * writes no files. Throws RunStopped if discovery fails.
 */
export async function performDryRun(
  deps: DryRunDeps,
  given: readonly Source[] | null,
  output: DryRunOutput,
): Promise<void> {
  const { gitHost, display, signal, db } = deps;
  signal.throwIfAborted();
  const access = openHostAccess(gitHost, { ...deps, ...gitHost }, display.line);
  const note = async (_level: string, text: string, repository?: string) =>
    display.line(cleanText(repository === undefined ? text : `${repository}: ${text}`));
  const read: Finding['read'] = (work) => work(db);
  const finding = { deps, access, remembers: false, note, read };
  const { sources, fault } = await findSources(finding, given);
  await printPlans(deps, sources, output);
  if (fault !== null) throw fault;
}

async function printPlans(
  { db, archiveFolder, selection }: DryRunDeps,
  sources: readonly Source[],
  { stdout, isJson }: DryRunOutput,
): Promise<void> {
  const { selected, leftOut, unmatched } = selectSources(sources, selection);
  const names = selected.map(({ name }) => name);
  const plans: PlannedRepository[] = [];
  for (const source of longestFirst(selected, await readLastDurations(db, names))) {
    plans.push(await planOf(source, archiveFolder));
  }
  plans.push(
    ...leftOut.map(({ source, why }) => ({
      ...{ repository: source.name, plan: 'leave out' as const },
      why,
    })),
  );
  for (const plan of plans) stdout.write(`${isJson ? asJson(plan) : asLine(plan)}\n`);
  if (isJson) return;
  for (const { from, text } of unmatched) stdout.write(`${from} ${text} matches no repository\n`);
  const count = (wanted: PlannedRepository['plan']) =>
    plans.filter(({ plan }) => plan === wanted).length;
  const counts = [
    `${count('new')} new`,
    `${count('check')} to check`,
    `${count('fail')} would fail`,
    `${count('leave out')} left out`,
  ];
  stdout.write(`Dry run: ${countRepositories(plans.length)}, ${counts.join(', ')}.\n`);
}

async function planOf(source: Source, archiveFolder: string): Promise<PlannedRepository> {
  const { name: repository, host } = source;
  if (host?.fault) return { repository, plan: 'fail', why: host.fault };
  const record = await readArchiveRecord(archiveFolder, archiveKey(repository));
  if (record === null) {
    const size = host?.sizeBytes ? `, about ${formatBytes(host.sizeBytes)}` : '';
    return { repository, plan: 'new', why: `no complete archive${size}` };
  }
  const archived = formatBytes(record.archive_size_bytes);
  return { repository, plan: 'check', why: `has an archive of ${archived}` };
}

const words = {
  new: 'would be backed up',
  check: 'would be checked',
  fail: 'would fail',
  'leave out': 'left out',
} as const;

function asLine({ repository, plan, why }: PlannedRepository): string {
  return cleanText(`${repository}: ${words[plan]}: ${why}`);
}

function asJson({ repository, plan, why }: PlannedRepository): string {
  return JSON.stringify({ event: 'plan', repository, plan, why: cleanText(why) });
}
