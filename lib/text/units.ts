/** `1 file`, `2 files`; pass `many` for irregular plurals. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `1 repository`, `2 repositories`. */
export function countRepositories(count: number): string {
  return counted(count, 'repository', 'repositories');
}

/** `app`, or `app and 2 more`. */
export function firstOf(names: readonly string[]): string {
  return `${names[0]}${names.length > 1 ? ` and ${names.length - 1} more` : ''}`;
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

/** A duration for people: `850 ms`, `12.3 s`, `4 min 5 s`, `2 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return twoUnits(`${minutes} min`, seconds % 60, 's');
  return twoUnits(`${Math.floor(minutes / 60)} h`, minutes % 60, 'min');
}

function twoUnits(whole: string, rest: number, unit: string): string {
  return rest === 0 ? whole : `${whole} ${rest} ${unit}`;
}
