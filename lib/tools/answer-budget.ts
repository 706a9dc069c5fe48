import * as z from 'zod';
import { AppError } from '../errors.ts';
import { cutText } from '../security/redaction/cut-text.ts';

/** Maximum characters of one answer as JSON text, which a model reads. */
export const MAX_ANSWER_CHARS = 40_000;

/** Lengths to which the texts of a list are cut before items are left out. */
export const TEXT_LENGTHS = [4_000, 1_000, 500] as const;

/** No text is cut shorter, because redaction finds a cut secret only in texts longer than 200 characters. */
const MIN_CUT_CHARS = 300;

/** Room for the fields added to a list: `truncated`, `more`, `next` and the count of redactions. */
const RESERVED_CHARS = 2_000;

/**
 * The fields of a cut answer. `truncated` is only set in that case, `more` says what is missing and how to get
 * it, and `next` is the cursor for the next call, if there is one.
 */
export const restFields = {
  truncated: z.literal(true).optional(),
  more: z.string().optional(),
  next: z.string().optional(),
};

/** `truncated`, `more` and `next` of an answer; none of them if it is complete. */
export interface Rest {
  truncated?: true;
  more?: string;
  next?: string;
}

/** The length of a value as JSON. */
export function jsonLength(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** The characters left for a list, next to the rest of its answer. */
export function roomBeside(rest: unknown, maxChars: number): number {
  return maxChars - RESERVED_CHARS - jsonLength(rest);
}

/**
 * The first items of a list that fit. Long texts in all items are cut, but not below 500 characters, before
 * items are left out. At least one item is kept, with its texts cut further. `lengths` are tried in turn.
 */
export function fitItems<Item>(
  items: readonly Item[],
  room: number,
  lengths: readonly number[] = TEXT_LENGTHS,
): Item[] {
  let fitting: Item[] = [];
  for (const length of lengths) {
    const cut = items.map((item) => cutTexts(item, length));
    fitting = takeWhileFitting(cut, room);
    if (fitting.length === items.length) return fitting;
  }
  const [first] = items;
  return fitting.length > 0 || first === undefined ? fitting : [cutTexts(first, MIN_CUT_CHARS)];
}

/** The first items of a list that fit, unchanged; at least one. */
export function takeFitting<Item>(items: readonly Item[], room: number): Item[] {
  const fitting = takeWhileFitting(items, room);
  return fitting.length > 0 ? fitting : items.slice(0, 1);
}

/**
 * Describes the items of a list after `offset + shown`, with the cursor for the next call; empty if there are
 * none. `what` names the items, such as `results`.
 */
export function restOf(what: string, { offset = 0, shown, total }: ListPart): Rest {
  const next = offset + shown;
  if (shown === 0 || next >= total) return {};
  return {
    truncated: true,
    more: `${total - next} further ${what}: call again with the same arguments and cursor "${next}"`,
    next: String(next),
  };
}

interface ListPart {
  offset?: number;
  shown: number;
  total: number;
}

/**
 * Enforces the size of an answer: if it is longer than `maxChars`, its longest texts are cut. Throws
 * PAYLOAD_TOO_LARGE if that is not enough.
 */
export function fitAnswer<Answer>(answer: Answer, maxChars = MAX_ANSWER_CHARS): Answer {
  const length = jsonLength(answer);
  if (length <= maxChars) return answer;
  for (let most = maxChars / 2; most >= MIN_CUT_CHARS; most /= 2) {
    const cut = cutTexts(answer, Math.floor(most));
    if (jsonLength(cut) <= maxChars) return cut;
  }
  throw new AppError(
    'PAYLOAD_TOO_LARGE',
    `the answer has ${length} characters, more than the ${maxChars} that an answer may have: ask for less, with a smaller limit or a narrower filter`,
  );
}

function takeWhileFitting<Item>(items: readonly Item[], room: number): Item[] {
  let left = room;
  const end = items.findIndex((item) => {
    left -= jsonLength(item) + 1;
    return left < 0;
  });
  return end < 0 ? [...items] : items.slice(0, end);
}

/** Cuts every text in a JSON value to a length. */
function cutTexts<Value>(value: Value, maxLength: number): Value {
  if (typeof value === 'string') return cutText(value, maxLength) as Value;
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, maxLength)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, cutTexts(member, maxLength)]),
  ) as Value;
}
