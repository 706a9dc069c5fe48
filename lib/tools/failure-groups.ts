import type { FailureFacts } from './backup-source.ts';

/** Maximum names of repositories in one group. */
const MAX_NAMES = 20;

/** Maximum characters of an error that are compared. */
const MAX_COMPARED = 500;

/** Repositories that failed with the same error. The sample fields are those of `repository`, the first one. */
export interface FailureGroup {
  repository: string;
  /** How many failed with it. */
  count: number;
  /** The names of the first twenty. */
  repositories: string[];
  error_message: string;
  last_successful_commit: string | null;
  /** How many were backed up since. */
  recovered: number;
}

/** Groups failures by error, the most frequent first. */
export function groupFailures(failures: FailureFacts['failures']): FailureGroup[] {
  return [...Map.groupBy(failures, errorKey).values()]
    .sort((a, b) => b.length - a.length)
    .flatMap((group) => {
      const [first] = group;
      if (!first) return [];
      const { repository, error_message, last_successful_commit } = first;
      return {
        repository,
        count: group.length,
        repositories: group.slice(0, MAX_NAMES).map((failure) => failure.repository),
        error_message,
        last_successful_commit,
        recovered: group.filter((failure) => failure.recovered).length,
      };
    });
}

/** A key that is equal for errors that differ only in numbers, hashes and the name of the repository. */
function errorKey({ status, repository, error_message }: FailureFacts['failures'][number]): string {
  const names = [repository, repository.split('/').at(-1) ?? '']
    .map((name) => name.toLowerCase())
    .filter((name) => name.length > 2);
  const message = names
    .reduce(
      (text, name) => text.replaceAll(name, '<repository>'),
      error_message.slice(0, 2 * MAX_COMPARED).toLowerCase(),
    )
    .replace(/\b[\da-f]{7,}(?:-[\da-f]{4,})*\b/g, '#')
    .replace(/\d+/g, '#')
    .replace(/\s+/g, ' ')
    .trim();
  return `${status}\n${message.slice(0, MAX_COMPARED)}`;
}
