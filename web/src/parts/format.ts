const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const number = new Intl.NumberFormat();

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** `3 hours ago`. */
export function formatAge(time: string, now: number): string {
  const seconds = (Date.parse(time) - now) / 1000;
  const unit = units.find(([, size]) => Math.abs(seconds) >= size);
  return unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : 'just now';
}

/** The time zone in which times are shown, with its offset at a moment, such as `Europe/Berlin (GMT+1)`. */
export function nameOfZone(at: Date): string {
  const { timeZone } = exact.resolvedOptions();
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'shortOffset' });
  const offset = parts.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value;
  return offset === undefined || offset === timeZone ? timeZone : `${timeZone} (${offset})`;
}

export function formatTime(time: string): string {
  return exact.format(new Date(time));
}

/**
 * Noon of each of the last days up to a time, oldest first. They are days of the calendar: where the clocks change,
 * one day has 23 hours and one 25.
 */
export function lastDays(now: number, count: number): Date[] {
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(now);
    day.setHours(12, 0, 0, 0);
    day.setDate(day.getDate() - (count - 1 - index));
    return day;
  });
}

export function formatCount(count: number): string {
  return number.format(count);
}

/** `1 repository`, `2 repositories`. */
export function countOf(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatBytes(bytes: number): string {
  const names = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), names.length - 1);
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${names[power]}`;
}

/** The size of an archive; `none` if there is no archive. */
export function formatArchiveSize(bytes: number): string {
  return bytes === 0 ? 'none' : formatBytes(bytes);
}

/**
 * The size of a repository's archive; `kept` while backups fail, because the size of the kept archive is not known, and
 * `gone` if it is not there.
 */
export function describeArchiveSize({
  archive_size_bytes,
  failing_since,
  last_good_at,
  archive,
}: {
  archive_size_bytes: number;
  failing_since: string | null;
  last_good_at: string | null;
  archive: { state: string; copies: number };
}): string {
  if (archive.state === 'incomplete') return 'incomplete';
  if (archive.state === 'missing') return archive.copies > 0 ? 'in a store' : 'gone';
  const isKept = failing_since !== null && last_good_at !== null;
  if (isKept && archive.state !== 'there') return archive.copies > 0 ? 'in a store' : 'unknown';
  return isKept && archive_size_bytes === 0 ? 'kept' : formatArchiveSize(archive_size_bytes);
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${milliseconds} ms`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return withRest(`${minutes} min`, seconds % 60, 's');
  return withRest(`${Math.floor(minutes / 60)} h`, minutes % 60, 'min');
}

function withRest(whole: string, rest: number, unit: string): string {
  return rest === 0 ? whole : `${whole} ${rest} ${unit}`;
}

/** The storage that a drill restored from, as people call it. */
export function nameOfStorage(storage: string): string {
  return storage === 'folder' ? 'the archive folder' : storage;
}
