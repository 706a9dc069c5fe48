/** `1 repository`, `2 repositories`. */
export function countRepositories(count: number): string {
  return `${count} ${count === 1 ? 'repository' : 'repositories'}`;
}

/** A size for people: `812 B`, `3.4 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
