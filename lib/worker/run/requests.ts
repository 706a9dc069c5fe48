import type { Database } from '../../database/database.ts';
import {
  claimRequests,
  listPendingRequests,
  type RunRequest,
} from '../../records/recording/requests.ts';
import { findUncovered, findUntracked } from '../../records/tracked-repos.ts';
import { cleanText } from '../../text/clean-text.ts';
import { firstOf } from '../../text/units.ts';
import type { Source } from '../base/source.ts';
import type { Journal } from '../record/journal.ts';
import type { LeftOut } from './selection/select.ts';

const MAX_LINE = 500;

const isFor = (source: Source, { target }: RunRequest) =>
  target !== null && source.name.toLowerCase() === target.toLowerCase();

/** What a run backs up. */
export interface RunExtent {
  sources: readonly Source[];
  /** What the run leaves out. */
  leftOut: readonly LeftOut[];
  /** Whether the run has everything that any source names, and not just what the command line does. */
  isComplete: boolean;
}

interface RequestedRun extends RunExtent {
  journal: Journal;
}

/**
 * Whether a run backs up all repositories, except those that a variable leaves out: if it is complete, or if it includes every repository that was read at least once and is still named by a source.
 */
export async function coversAll(
  db: Database,
  { sources, leftOut, isComplete }: RunExtent,
  since: string,
): Promise<boolean> {
  if (leftOut.some(({ isLasting }) => !isLasting)) return false;
  if (isComplete) return true;
  const names = [...sources, ...leftOut.map(({ source }) => source)].map(({ name }) => name);
  return ((await findUncovered(db, names, since)) ?? []).length === 0;
}

/**
 * Claims and logs the requests that a run fulfils; the others stay pending. A request for a repository is fulfilled if
 * it is among the sources; a request for all repositories is fulfilled if the run is complete, or includes every
 * repository that was read at least once and is still named by a source. A request for a repository that a complete run
 * does not find and that is not tracked is claimed and fails, since no run could fulfil it. One for a repository that is
 * left out stays pending. Requests never restrict a run. While the database is unreachable, none is claimed.
 */
export async function claimFulfilled(run: RequestedRun): Promise<RunRequest[]> {
  const { journal, sources, leftOut } = run;
  const { store } = journal;
  // A request for all repositories does not include those that a variable always leaves out.
  const meant = [...sources, ...leftOut.filter((it) => it.isLasting).map(({ source }) => source)];
  const pending = await store.read(listPendingRequests, () => []);
  const names = meant.map(({ name }) => name);
  const isForAll = run.isComplete && leftOut.every(({ isLasting }) => isLasting);
  // The newest one decides for all: there are seldom two.
  const forAll = pending.findLast(({ target }) => target === null);
  const uncovered =
    forAll === undefined || isForAll
      ? []
      : await store.read(
          (db) => findUncovered(db, names, forAll.createdAt),
          () => null,
        );
  const isFulfilled = (request: RunRequest) =>
    request.target === null
      ? uncovered?.length === 0
      : sources.some((source) => isFor(source, request));
  const unfulfilled = pending.filter((request) => !isFulfilled(request));
  const isLeftOut = (request: RunRequest) => leftOut.some(({ source }) => isFor(source, request));
  const targets = unfulfilled
    .filter((request) => !isLeftOut(request))
    .flatMap(({ target }) => target ?? []);
  const unknown =
    run.isComplete && targets.length > 0
      ? await store.read(
          (db) => findUntracked(db, targets),
          () => new Set<string>(),
        )
      : new Set<string>();
  const left = new Set(unfulfilled.filter(({ target }) => target === null || !unknown.has(target)));
  const ids = pending.filter((request) => !left.has(request)).map(({ id }) => id);
  const claimed = await store.read(
    (db, { id }) => claimRequests(db, id, ids),
    () => [],
  );
  for (const { id, target, requestedBy, reason } of claimed) {
    const asked = `request ${id} by ${requestedBy || 'unknown'} for ${target ?? 'all repositories'}`;
    const why = reason === '' ? '' : `: ${reason}`;
    await journal.note('info', `claimed ${asked}${why}`);
    if (target !== null && unknown.has(target)) {
      await journal.note('warn', `${asked} fails: no repository of that name is tracked`);
    }
  }
  if (left.size > 0) {
    const all = describeAll(uncovered ?? []);
    const waiting = new Set([...left].map(({ target }) => target ?? all));
    const text = `still pending, as this run does not cover them: requests for ${[...waiting].join(', ')}`;
    await journal.note('info', cleanText(text, MAX_LINE));
  }
  return claimed;
}

/** What a request for all repositories means that a run leaves out. */
function describeAll(uncovered: readonly string[]): string {
  return uncovered.length === 0
    ? 'all repositories'
    : `all repositories (this run leaves out ${firstOf(uncovered)}; forget what is no longer a source)`;
}

/** Ids of the claimed requests whose repository failed or is unknown. */
export function findFailedRequests(
  requests: readonly RunRequest[],
  sources: readonly Source[],
  failed: ReadonlySet<Source>,
): number[] {
  const isMet = (request: RunRequest) => {
    if (request.target === null) return true;
    const targets = sources.filter((source) => isFor(source, request));
    return targets.length > 0 && targets.every((source) => !failed.has(source));
  };
  return requests.filter((request) => !isMet(request)).map(({ id }) => id);
}
