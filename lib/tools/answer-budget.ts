import * as z from 'zod';
import { AppError } from '../errors.ts';
import { cutText } from '../text/cut-text.ts';

/** Most characters of one answer, as the JSON text that a model reads. */
export const MAX_ANSWER_CHARS = 40_000;

/** Lengths to which the texts of a list are cut before items of it are left out. */
const TEXT_LENGTHS = [4_000, 1_000, 500] as const;

/** No text is cut shorter: redaction looks for half a secret at the end of texts that are longer than 200. */
const SHORTEST_CUT = 300;

/** Room for what comes to a list: `truncated`, `more` and `next`, and marks of redaction. */
const RESERVED_CHARS = 2_000;

/**
 * The fields of an answer of which there is more. `truncated` is true only then, `more` says what is
 * missing and how to get it, `next` is what the next call passes on, where a next call gets it.
 */
export const restFields = {
  truncated: z.literal(true).optional(),
  more: z.string().optional(),
  next: z.string().optional(),
};

/** `truncated`, `more` and `next` of an answer; nothing when it is whole. */
export interface Rest {
  truncated?: true;
  more?: string;
  next?: string;
}

/** How many characters a value has as JSON. */
export function jsonLength(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** What is left of `maxChars` for a list beside the rest of its answer. */
export function roomBeside(rest: unknown, maxChars: number): number {
  return maxChars - RESERVED_CHARS - jsonLength(rest);
}

/**
 * The first items of a list that have room together. Long texts of all items are cut, to 500 characters at
 * the least, before items are left out; one item comes in any case, its texts as short as it takes.
 */
export function fitItems<Item>(items: readonly Item[], room: number): Item[] {
  let fitting: Item[] = [];
  for (const length of TEXT_LENGTHS) {
    const cut = items.map((item) => cutTexts(item, length));
    fitting = takeWhileFitting(cut, room);
    if (fitting.length === items.length) return fitting;
  }
  const [first] = items;
  return fitting.length > 0 || first === undefined ? fitting : [cutTexts(first, SHORTEST_CUT)];
}

/** The first items of a list that have room together, as they are; at least one. */
export function takeFitting<Item>(items: readonly Item[], room: number): Item[] {
  const fitting = takeWhileFitting(items, room);
  return fitting.length > 0 ? fitting : items.slice(0, 1);
}

/**
 * The rest of a list behind `offset + shown` of `total` items: nothing when there is none, else the cursor
 * of the next call. `what` names the items: `results`.
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
 * The last word on the size of an answer, whatever made it: where it is longer than `maxChars`, its longest
 * texts are cut. Throws PAYLOAD_TOO_LARGE when that does not help.
 */
export function fitAnswer<Answer>(answer: Answer, maxChars = MAX_ANSWER_CHARS): Answer {
  const length = jsonLength(answer);
  if (length <= maxChars) return answer;
  for (let most = maxChars / 2; most >= SHORTEST_CUT; most /= 2) {
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

/** A JSON value with every text in it cut to a length. */
function cutTexts<Value>(value: Value, maxLength: number): Value {
  if (typeof value === 'string') return cutText(value, maxLength) as Value;
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, maxLength)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, cutTexts(member, maxLength)]),
  ) as Value;
}
