/** `1 repository`, `2 repositories`. */
export function countRepositories(count: number): string {
  return `${count} ${count === 1 ? 'repository' : 'repositories'}`;
}
