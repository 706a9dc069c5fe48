import { MASK } from './mask.ts';

/** A part of a text. */
export interface Range {
  start: number;
  end: number;
}

/** Ranges in order, overlapping and neighbouring ones as one. Empty ones are left out. */
export function mergeRanges(ranges: readonly Range[]): Range[] {
  const merged: Range[] = [];
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (start >= end) continue;
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** Puts the mask in the place of each range. They are in order and do not overlap. */
export function maskRanges(text: string, ranges: readonly Range[]): string {
  let masked = '';
  let copied = 0;
  for (const { start, end } of ranges) {
    masked += text.slice(copied, start) + MASK;
    copied = end;
  }
  return copied === 0 ? text : masked + text.slice(copied);
}

/**
 * Everything that a pattern with the flag g finds in a text; it never finds an empty one. `matchAll` would copy
 * the pattern for each text, which takes longer than a short text does.
 */
export function findAll(text: string, pattern: RegExp): RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text))
    found.push(match);
  return found;
}
