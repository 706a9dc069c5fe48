import { Cron } from 'croner';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Times that are further apart than this are no schedule. */
const MAX_INTERVAL_MS = 366 * DAY_MS;
const MAX_LENGTH = 100;

/** When something is to start: at an interval, or at times of the clock. */
export interface Timing {
  /** As a person wrote it. */
  text: string;
  /** Cron of five fields; null if it is an interval. */
  cron: string | null;
  /** The interval, or the longest time between two times of the clock, in milliseconds. */
  intervalMs: number;
}

/** A text that is no timing. The message continues a sentence such as "the timing …". */
export class TimingFault extends Error {
  override readonly name = 'TimingFault';
}

const FORMS =
  'must be an interval such as 6h or "every 6 hours", a time such as "daily at 02:30" or "Sundays at 03:00", or cron of five fields';

const NEVER = 'must be a time that comes';

/**
 * Reads a timing: `30m`, `every 6 hours`, `daily at 02:30`, `weekdays at 22:00`, `Sundays at 3 am`, `monthly on the 1st
 * at 03:00`, or cron of five fields. Throws TimingFault.
 */
export function parseTiming(given: string): Timing {
  const text = given.trim();
  if (text.length > MAX_LENGTH) throw new TimingFault(`must have at most ${MAX_LENGTH} characters`);
  const words = text.toLowerCase().split(/[\s,]+/);
  const intervalMs = readDuration(text) ?? readInterval(words);
  if (intervalMs !== null) {
    if (intervalMs > 0 && intervalMs <= 365 * DAY_MS) return { text, cron: null, intervalMs };
    throw new TimingFault('must be an interval from a minute to 365 days');
  }
  const cron = readClock(words) ?? readCron(text);
  if (cron === null) throw new TimingFault(FORMS);
  return { text, cron, intervalMs: longestGap(cron) };
}

/** The first time of the clock after a moment, both in milliseconds since the epoch. Throws for a time zone that does not exist. */
export function nextTime(cron: string, timeZone: string, after: number): number {
  const next = open(cron, timeZone).nextRun(new Date(after));
  if (next === null) throw new TimingFault(NEVER);
  return next.getTime();
}

/** The last time of the clock at a moment or before it. */
export function lastTime(cron: string, timeZone: string, at: number): number {
  const [last] = open(cron, timeZone).previousRuns(1, new Date(at + 1));
  if (last === undefined) throw new TimingFault(NEVER);
  return last.getTime();
}

/** The time zone of this process: that of `TZ`, else of the machine. */
export function ownTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Whether it names a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * Where clocks change, a time that is left out happens right after the gap, and one that comes twice happens once. Only
 * what happens in every hour happens in each of the two.
 */
function open(cron: string, timezone: string): Cron {
  return new Cron(cron, {
    timezone,
    mode: '5-part',
    fixedTimeRule: 'no-wildcard',
    paused: true,
  });
}

const unitMs = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;

/** `30m`, `24h`, `1d`, `1w`. */
function readDuration(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * unitMs[unit as keyof typeof unitMs];
}

const adverbs: Record<string, number> = { hourly: HOUR_MS, daily: DAY_MS, weekly: 7 * DAY_MS };

/** `every 6 hours`, `every day`, `hourly`. */
function readInterval(words: readonly string[]): number | null {
  const [first = '', ...rest] = words;
  if (rest.length === 0) return adverbs[first] ?? null;
  if (first !== 'every' || rest.length > 2) return null;
  const [count = '1', unit = ''] = rest.length === 2 ? rest : ['1', ...rest];
  const [, letter] =
    /^(m)in(?:ute)?s?$|^(?:(h)our|(d)ay|(w)eek)s?$/.exec(unit)?.filter(Boolean) ?? [];
  if (letter === undefined || !/^\d{1,6}$/.test(count)) return null;
  return Number(count) * unitMs[letter as keyof typeof unitMs];
}

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const groups: Record<string, string> = { weekday: '1-5', weekend: '0,6' };
const MAX_TIMES = 24;

/** `daily at 02:30`, `weekdays at 22:00`, `Mondays and Thursdays at 1 am`, `monthly on the 1st at 03:00`. As cron. */
function readClock(words: readonly string[]): string | null {
  const at = words.indexOf('at');
  if (at < 0) return null;
  const when = words
    .slice(0, at)
    .filter((word) => !['every', 'on', 'and', 'the', 'of', 'each'].includes(word));
  const times = readTimes(words.slice(at + 1).filter((word) => word !== 'and'));
  const day = readDays(when);
  if (times === null || day === null) return null;
  const minutes = new Set(times.map(({ minute }) => minute));
  const hours = new Set(times.map(({ hour }) => hour));
  // One cron has one list of minutes for all its hours.
  if (
    minutes.size * hours.size !==
    new Set(times.map(({ hour, minute }) => hour * 60 + minute)).size
  ) {
    throw new TimingFault('must have the same minutes in each hour: make a schedule for each time');
  }
  return `${[...minutes]} ${[...hours]} ${day}`;
}

/** Day of the month, month and day of the week. */
function readDays(words: readonly string[]): string | null {
  const [first = 'daily', ...rest] = words;
  if (rest.length === 0 && /^(?:daily|days?)$/.test(first)) return '* * *';
  if (first === 'monthly' || /^months?$/.test(first)) {
    const [, number] = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(rest[0] ?? '1st') ?? [];
    if (rest.length > 1 || number === undefined || Number(number) < 1) return null;
    if (Number(number) > 28)
      throw new TimingFault('must be on a day that every month has: the 1st to the 28th');
    return `${Number(number)} * *`;
  }
  const named = first === 'weekly' ? (rest.length === 0 ? ['sunday'] : rest) : words;
  const found = named.map((word) => {
    const one = word.replace(/s$/, '');
    const day = days.findIndex((name) => name === one || name.slice(0, 3) === one);
    return groups[one] ?? (day < 0 ? null : String(day));
  });
  return found.includes(null) ? null : `* * ${found}`;
}

interface ClockTime {
  hour: number;
  minute: number;
}

function readTimes(words: readonly string[]): ClockTime[] | null {
  // `3 am` is two words.
  const texts = words
    .join(' ')
    .replace(/ (?=[ap]m\b)/g, '')
    .split(' ');
  const times = texts.map(readTime);
  return texts.length > MAX_TIMES || times.includes(null) ? null : (times as ClockTime[]);
}

function readTime(text: string): ClockTime | null {
  if (text === 'midnight') return { hour: 0, minute: 0 };
  if (text === 'noon') return { hour: 12, minute: 0 };
  const [, hours, minutes, half] = /^(\d{1,2})(?::(\d{2}))?([ap]m)?$/.exec(text) ?? [];
  if (hours === undefined || (minutes === undefined && half === undefined)) return null;
  const minute = Number(minutes ?? 0);
  const isTwelve = half !== undefined;
  if (minute > 59 || Number(hours) > (isTwelve ? 12 : 23) || (isTwelve && Number(hours) === 0))
    return null;
  return {
    hour: isTwelve ? (Number(hours) % 12) + (half === 'pm' ? 12 : 0) : Number(hours),
    minute,
  };
}

/** Cron of five fields, without steps in the hours of the day; null for any other text. */
function readCron(text: string): string | null {
  const fields = text.split(/\s+/);
  // A `?` would mean the moment at which it is read.
  if (fields.length !== 5 || !/^[\d*][\d*,/-]*$/.test(fields[0] ?? '') || text.includes('?'))
    return null;
  try {
    open(text, 'UTC');
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) {
      throw new TimingFault(`is no valid cron: ${error.message.replace(/^CronPattern: /, '')}`);
    }
    throw error;
  }
  const [minute = '', hour = '', ...rest] = fields;
  // What happens in every hour goes by hours that pass; everything else by the clock, however it is written.
  if (hour === '*' || hour === '*/1') return text;
  return [listed(minute, 59), listed(hour, 23), ...rest].join(' ');
}

/** A field of cron without `*` and steps: `10-20/5` becomes `10,15,20`. */
function listed(field: string, max: number): string {
  return field
    .split(',')
    .map((part) => {
      const [range = '', step = '1'] = part.split('/');
      if (range !== '*' && !part.includes('/')) return part;
      const [from = 0, to = max] = range === '*' ? [] : range.split('-').map(Number);
      const count = Math.floor((to - from) / Number(step)) + 1;
      return Array.from({ length: count }, (_, index) => from + index * Number(step)).join(',');
    })
    .join(',');
}

/** How many of the next times and days are looked at for the longest gap. */
const TIMES_READ = 60;
const DAYS_READ = 10;

/** Throws TimingFault if it never happens, or not every year. */
function longestGap(cron: string): number {
  const first = nextTime(cron, 'UTC', Date.now());
  const gaps: number[] = [];
  let before = first;
  for (let read = 0; read < TIMES_READ && before - first < 5 * MAX_INTERVAL_MS; read++) {
    const next = nextTime(cron, 'UTC', before);
    gaps.push(next - before);
    before = next;
  }
  // Frequent times may all lie in one day.
  for (let day = 0; day < DAYS_READ; day++) {
    const midnight = Math.ceil(first / DAY_MS + day) * DAY_MS;
    gaps.push(nextTime(cron, 'UTC', midnight - 1) - lastTime(cron, 'UTC', midnight - 1));
  }
  const longest = Math.max(...gaps);
  if (longest <= MAX_INTERVAL_MS) return longest;
  throw new TimingFault('must happen at least once a year');
}
