import { MASK } from './mask.ts';

/** A part of a text. */
export interface Range {
  start: number;
  end: number;
}

/** Sorts ranges, joins overlapping and adjacent ones and drops empty ones. */
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

/** Replaces each range by the mask. They must be sorted and must not overlap. */
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
 * All matches of a global pattern that never matches the empty string. Faster than `matchAll`, which copies
 * the pattern for each text.
 */
export function findAll(text: string, pattern: RegExp): RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text))
    found.push(match);
  return found;
}
