import { counted } from '../text/units.ts';

/** `1 repository`, `2 repositories`. */
export function countRepositories(count: number): string {
  return counted(count, 'repository', 'repositories');
}

/** `run 7`; `run` if it has no number yet. */
export function nameRun(run: { id: number } | null): string {
  return run === null ? 'run' : `run ${run.id}`;
}
