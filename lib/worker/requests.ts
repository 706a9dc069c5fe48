import { cleanText } from '../platform/clean-text.ts';
import type { ClaimedRequest } from '../records/recording/requests.ts';
import type { Journal } from './journal.ts';
import type { Source } from './source.ts';

const isFor = (source: Source, { target }: ClaimedRequest) =>
  target !== null && source.name.toLowerCase() === target.toLowerCase();

/**
 * Writes down what was asked for. A request never narrows a run, which backs all its sources up; one for
 * a repository that is not among them cannot be met.
 */
export async function noteRequests(
  journal: Journal,
  requests: readonly ClaimedRequest[],
  sources: readonly Source[],
): Promise<void> {
  for (const request of requests) {
    const { id, target, requestedBy, reason } = request;
    const asked = `request ${id} of ${requestedBy || 'unknown'} for ${target ?? 'all repositories'}`;
    const why = reason === '' ? '' : `: ${cleanText(reason, 500)}`;
    await journal.note('info', `claimed ${asked}${why}`);
    if (target !== null && !sources.some((source) => isFor(source, request))) {
      await journal.note('warn', `${asked} fails: it is not among the sources of this run`);
    }
  }
}

/** Ids of the requests whose repository was not backed up: it failed, or is not among the sources. */
export function findFailedRequests(
  requests: readonly ClaimedRequest[],
  sources: readonly Source[],
  failed: ReadonlySet<Source>,
): number[] {
  const isMet = (request: ClaimedRequest) => {
    if (request.target === null) return true;
    const targets = sources.filter((source) => isFor(source, request));
    return targets.length > 0 && targets.every((source) => !failed.has(source));
  };
  return requests.filter((request) => !isMet(request)).map(({ id }) => id);
}
