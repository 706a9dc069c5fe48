/** `1 repository`, `2 repositories`. */
export function countRepositories(count: number): string {
  return `${count} ${count === 1 ? 'repository' : 'repositories'}`;
}

/** `run 7`; `run` if it has no number yet. */
export function nameRun(run: { id: number } | null): string {
  return run === null ? 'run' : `run ${run.id}`;
}
