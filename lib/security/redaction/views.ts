import { MASK, MASKED } from './mask.ts';
import { findAll, type Range } from './ranges.ts';

/** A text as the rules read it: without what hides a secret from them, but not from a reader. */
export interface View {
  text: string;
  /** Where a range of the view stands in the text that it was made of. */
  toSource(range: Range): Range;
}

/** Codes that color a terminal's text or set its title, also with the escape written out or taken away. */
const terminalCode = String.raw`(?:\u001b|\\u001[bB]|\\x1[bB]|\\033|\\e)(?:\[[\d;:?]{0,30}[A-Za-z]|\][^\u0007\u001b\\\n]{0,256}(?:\u0007|\u001b\\|\\u0007)?|[()][A-Z\d])|\u009b[\d;:?]{0,30}[A-Za-z]|\[\d{1,3}(?:;\d{1,3}){0,4}m`;
/** Characters that nobody sees: controls but for white space, and what Unicode lets a font leave out. */
const invisible = String.raw`[\0-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Default_Ignorable_Code_Point}\p{Cf}]`;
const hidden = new RegExp(`${terminalCode}|${invisible}`, 'gu');
/** Nearly every text is left at once by this one. */
const mayHide = new RegExp(String.raw`${invisible}|\[\d{1,3}[;m]|\\(?:u001|x1|033|e)`, 'u');

/** A text without invisible characters and codes of a terminal, its masks as signs that no rule takes. */
export function readable(text: string): View {
  const shown = mayHide.test(text) ? leaveOut(text, hidden) : { text, toSource: same };
  return { ...shown, text: shown.text.replaceAll(MASK, MASKED) };
}

/** A line break in what could be one word, with the indent of the next line; also one that is written out. */
const breakInWord = /(?<=[\w+/=.~-])(?:\\?\r?\n|(?:\\{1,2}r)?\\{1,2}n)[ \t]{0,80}(?=[\w+/=.~-])/g;

/** A view in which words go on behind the end of their line. */
export interface JoinedView extends View {
  /** Where lines begin. */
  starts: ReadonlySet<number>;
}

/** Joins the lines that end in a word to those behind them; null when no line does. */
export function joinLines(view: View): JoinedView | null {
  if (!view.text.includes('\n') && !view.text.includes('\\n')) return null;
  const joined = leaveOut(view.text, breakInWord);
  if (joined.text.length === view.text.length) return null;
  const toSource = (range: Range) => view.toSource(joined.toSource(range));
  return { text: joined.text, toSource, starts: new Set(joined.places) };
}

const same = (range: Range) => range;

/** Leaves what a pattern finds out of a text, and keeps account of it. */
function leaveOut(text: string, pattern: RegExp): View & { places: readonly number[] } {
  const kept: string[] = [];
  /** Behind each gap: where the view goes on, and how much was left out so far. */
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

/** How many of the numbers, which are in order, are at most `most`. */
function countUpTo(numbers: readonly number[], most: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}
