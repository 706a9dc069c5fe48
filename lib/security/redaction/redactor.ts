import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { splitCutMark } from './cut-text.ts';
import { findOwnCut, findSecrets } from './find-secrets.ts';
import { isHarmless } from './harmless-values.ts';
import { MASK } from './mask.ts';
import { isSecretName } from './named-values.ts';
import { type OwnSecrets, prepareOwnSecrets } from './own-secrets.ts';
import { maskRanges, mergeRanges, type Range } from './ranges.ts';

/** A redacted value, and the number of secrets removed. */
export interface Redacted<Value> {
  value: Value;
  redacted: number;
}

/** Removes secrets from data that leaves the process. */
export interface Redactor {
  /** Redacts a text. */
  text(text: string): string;
  /**
   * Redacts all strings and keys of a JSON value. Also finds configured secrets split across items of a
   * list, and passwords by their key.
   */
  value<Value>(value: Value): Value;
  /** Like `value`, with a count. */
  counted<Value>(value: Value): Redacted<Value>;
  /** Like `counted`, but yields to the event loop, for long texts. */
  countedInSteps<Value>(value: Value): Promise<Redacted<Value>>;
}

/** Longer texts are searched in windows of this length. */
const WINDOW = 131_072;
/** The overlap of windows, longer than almost any secret. */
const OVERLAP = 32_768;

/** Work that can pause wherever it yields. */
type Steps<Result> = Generator<undefined, Result, undefined>;

/**
 * Redacts anything that looks like a credential in untrusted text. Idempotent, and linear in the length of
 * the text, even for hostile input.
 */
export function redact(text: string): string {
  return withoutOwnSecrets.text(text);
}

/**
 * A redactor that also knows configured secrets: plain, in JSON, URLs, base64 and hexadecimal, and truncated
 * at the end of a text to 8 characters or more. Ignores values shorter than 8 characters.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const own = prepareOwnSecrets(secrets);
  return {
    text: (text) => finish(redactText(text, own)).value,
    value: (value) => finish(redactValue(value, own)).value,
    counted: (value) => finish(redactValue(value, own)),
    countedInSteps: (value) => finishInSteps(redactValue(value, own)),
  };
}

const withoutOwnSecrets = createRedactor([]);

function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

async function finishInSteps<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await yieldToEventLoop();
  }
}

function* redactText(
  whole: string,
  own: OwnSecrets,
  known: readonly Range[] = [],
): Steps<Redacted<string>> {
  // The text before a cut mark may end with a truncated secret.
  const { text, mark: markOfCut } = splitCutMark(whole);
  const ranges = yield* findInWindows(text, (part) => findSecrets(part, own));
  const { value, redacted } = mask(text, [...known, ...ranges, ...findOwnCut(text, own)]);
  return { value: value + markOfCut, redacted };
}

function mask(text: string, ranges: readonly Range[]): Redacted<string> {
  const merged = mergeRanges(ranges);
  return { value: maskRanges(text, merged), redacted: merged.length };
}

/** Finds ranges in a text, using overlapping windows for a long one. */
function* findInWindows(text: string, find: (part: string) => Range[]): Steps<Range[]> {
  if (text.length <= WINDOW) return find(text);
  const found: Range[] = [];
  for (let from = 0; from < text.length - OVERLAP; from += WINDOW - OVERLAP) {
    const to = Math.min(text.length, from + WINDOW);
    // A match at the edge of a window is seen in full in the neighboring window.
    const first = from === 0 ? 0 : from + OVERLAP / 2;
    const last = to === text.length ? to : to - OVERLAP / 2;
    for (const { start, end } of find(text.slice(from, to))) {
      const range = { start: from + start, end: from + end };
      if (range.end > first && range.start < last) found.push(range);
    }
    yield;
  }
  return found;
}

function* redactValue<Value>(value: Value, own: OwnSecrets): Steps<Redacted<Value>> {
  const groups: Groups = new Map();
  collect(value, '', null, groups);
  const masked = new Map<string, Iterator<string>>();
  let count = 0;
  for (const [path, group] of groups) {
    const texts = yield* redactGroup(group, own);
    masked.set(path, texts.map((text) => text.value).values());
    for (const { redacted } of texts) count += redacted;
  }
  const keys = new Map<string, string>();
  const redactKey = (key: string) => {
    const known = keys.get(key);
    if (known !== undefined) return known;
    const shown = finish(redactText(key, own));
    keys.set(key, shown.value);
    count += shown.redacted;
    return shown.value;
  };
  const rebuilt = rebuild(value, '', masked, redactKey) as Value;
  return { value: rebuilt, redacted: count };
}

/** The strings at the same path in all items of a list. */
interface Group {
  key: string | null;
  texts: string[];
}
type Groups = Map<string, Group>;

function* redactGroup({ key, texts }: Group, own: OwnSecrets): Steps<Redacted<string>[]> {
  if (texts.length === 1 && texts[0] !== undefined) return [yield* redactNamed(key, texts[0], own)];
  const whole = texts.join('');
  const across = mergeRanges(yield* findInWindows(whole, (part) => own.find(part)));
  const redacted: Redacted<string>[] = [];
  let offset = 0;
  for (const text of texts) {
    const here = shareOf(across, offset, text.length);
    offset += text.length;
    redacted.push(yield* redactNamed(key, text, own, here));
  }
  return redacted;
}

/** The parts of ranges within a text at an offset, relative to it. */
function shareOf(ranges: readonly Range[], offset: number, length: number): Range[] {
  return ranges
    .map(({ start, end }) => ({
      start: Math.max(0, start - offset),
      end: Math.min(length, end - offset),
    }))
    .filter(({ start, end }) => start < end);
}

function* redactNamed(
  key: string | null,
  text: string,
  own: OwnSecrets,
  known: readonly Range[] = [],
): Steps<Redacted<string>> {
  if (key !== null && isSecretName(key) && !isHarmless(text, nameContext)) {
    return mask(text, text === MASK ? [] : [{ start: 0, end: text.length }]);
  }
  return yield* redactText(text, own, known);
}

const nameContext = { isExact: false, isQuoted: true, before: '', next: '' };

function collect(value: unknown, path: string, key: string | null, groups: Groups): void {
  if (typeof value === 'string') {
    const group = groups.get(path);
    if (group) group.texts.push(value);
    else groups.set(path, { key, texts: [value] });
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, `${path}[]`, key, groups);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      collect(member, `${path}.${name}`, name, groups);
    }
  }
}

/** Copies a value with its strings replaced, in the order of `collect`. */
function rebuild(
  value: unknown,
  path: string,
  masked: ReadonlyMap<string, Iterator<string>>,
  redactKey: (key: string) => string,
): unknown {
  if (typeof value === 'string') return masked.get(path)?.next().value;
  if (Array.isArray(value)) {
    return value.map((item) => rebuild(item, `${path}[]`, masked, redactKey));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      redactKey(key),
      rebuild(member, `${path}.${key}`, masked, redactKey),
    ]),
  );
}
