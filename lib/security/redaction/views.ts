import { MASK, MASKED } from './mask.ts';
import { findAll, type Range } from './ranges.ts';

/** A text as searched by rules, without characters that would hide a secret from rules but not from a reader. */
export interface View {
  text: string;
  /** Converts a range of the view to a range of the original text. */
  toSource(range: Range): Range;
}

/** Terminal codes for colors and titles, also with the escape character spelled out or removed. */
const terminalCode = String.raw`(?:\u001b|\\u001[bB]|\\x1[bB]|\\033|\\e)(?:\[[\d;:?]{0,30}[A-Za-z]|\][^\u0007\u001b\\\n]{0,256}(?:\u0007|\u001b\\|\\u0007)?|[()][A-Z\d])|\u009b[\d;:?]{0,30}[A-Za-z]|\[\d{1,3}(?:;\d{1,3}){0,4}m`;
/** Invisible characters: controls except white space, and those that Unicode calls default ignorable. */
const invisible = String.raw`[\0-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Default_Ignorable_Code_Point}\p{Cf}]`;
/** A run of them is one match: a file may consist of nothing else. */
const hidden = new RegExp(`(?:${terminalCode}|${invisible})+`, 'gu');
/** A fast check that rules out nearly every text. */
const mayHide = new RegExp(String.raw`${invisible}|\[\d{1,3}[;m]|\\(?:u001|x1|033|e)`, 'u');

/** Removes invisible characters and terminal codes, and replaces masks by characters that no rule matches. */
export function readable(text: string): View {
  const shown = mayHide.test(text) ? leaveOut(text, hidden) : { text, toSource: same };
  return { ...shown, text: shown.text.replaceAll(MASK, MASKED) };
}

/** A line break within what may be one word, with the indentation of the next line; escaped or not. */
const breakInWord = /(?<=[\w+/=.~-])(?:\\?\r?\n|(?:\\{1,2}r)?\\{1,2}n)[ \t]{0,80}(?=[\w+/=.~-])/g;

/** A view in which words continue across line breaks. */
export interface JoinedView extends View {
  /** Positions at which lines start. */
  starts: ReadonlySet<number>;
}

/** Joins lines that end in a word to the next line; null if there is none. */
export function joinLines(view: View): JoinedView | null {
  if (!view.text.includes('\n') && !view.text.includes('\\n')) return null;
  const joined = leaveOut(view.text, breakInWord);
  if (joined.text.length === view.text.length) return null;
  const toSource = (range: Range) => view.toSource(joined.toSource(range));
  return { text: joined.text, toSource, starts: new Set(joined.places) };
}

const same = (range: Range) => range;

/** Removes all matches of a pattern, keeping track of positions. */
function leaveOut(text: string, pattern: RegExp): View & { places: readonly number[] } {
  const kept: string[] = [];
  /** After each gap: the position in the view, and how much was removed so far. */
  const places: number[] = [];
  const shifts: number[] = [];
  let copied = 0;
  let shift = 0;
  for (const { 0: found, index } of findAll(text, pattern)) {
    kept.push(text.slice(copied, index));
    copied = index + found.length;
    shift += found.length;
    places.push(copied - shift);
    shifts.push(shift);
  }
  if (shift === 0) return { text, toSource: same, places };
  kept.push(text.slice(copied));
  const sourceOf = (at: number) => at + (shifts[countUpTo(places, at) - 1] ?? 0);
  return {
    text: kept.join(''),
    places,
    toSource: ({ start, end }) => ({ start: sourceOf(start), end: sourceOf(end - 1) + 1 }),
  };
}

/** How many of the sorted numbers are at most `max`. */
function countUpTo(numbers: readonly number[], max: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= max) low = middle + 1;
    else high = middle;
  }
  return low;
}
