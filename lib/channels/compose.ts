import { cleanText } from '../text/clean-text.ts';
import type { AlertMessage } from './channel.ts';

const MAX_TITLE = 200;
const MAX_LINE = 500;
const MAX_LINES = 200;
/** Room for "… and 1000000 more". */
const MORE_LENGTH = 40;

/** What every channel starts with: single lines, without control characters, deceptive characters or credentials. */
export interface PlainMessage {
  title: string;
  lines: readonly string[];
  /** How many lines are already left out. */
  omitted: number;
  link: string | null;
}

/** Cleans the untrusted text of a message. */
export function toPlain({ title, lines, link }: AlertMessage): PlainMessage {
  const kept = lines.slice(0, MAX_LINES).map((line) => cleanText(line, MAX_LINE));
  return {
    title: cleanText(title, MAX_TITLE),
    lines: kept,
    omitted: lines.length - kept.length,
    link: link === undefined || !/^https?:\/\/[^\s<>"|]{1,500}$/.test(link) ? null : link,
  };
}

const lengthOf = (text: string) => text.length;

/**
 * Joins as many lines as fit into `room`, and says how many do not. Applies `write` to each line before measuring it,
 * so that no escape sequence is cut.
 */
export function joinFitting(
  { lines, omitted }: Pick<PlainMessage, 'lines' | 'omitted'>,
  room: number,
  { write = (line: string) => line, size = lengthOf } = {},
): string {
  const escaped = lines.map(write);
  const whole = escaped.join('\n');
  if (omitted === 0 && size(whole) <= room) return whole;
  const kept: string[] = [];
  let left = room - MORE_LENGTH;
  for (const line of escaped) {
    left -= size(line) + 1;
    if (left < 0) break;
    kept.push(line);
  }
  return [...kept, `… and ${lines.length - kept.length + omitted} more`].join('\n');
}

const marks = { critical: '🔴', warning: '🟠', info: '🔵' } as const;

/** An emoji that shows how serious a message is. */
export function markOf({ kind, severity }: Pick<AlertMessage, 'kind' | 'severity'>): string {
  return kind === 'resolved' ? '🟢' : marks[severity];
}

/** How urgent a message is: 0 for good news, 2 for a critical one. */
export function loudnessOf({ kind, severity }: Pick<AlertMessage, 'kind' | 'severity'>): 0 | 1 | 2 {
  if (kind === 'resolved' || kind === 'test' || severity === 'info') return 0;
  return severity === 'critical' ? 2 : 1;
}

/**
 * Keeps a name after an @ from mentioning a user, and leaves mail addresses as they are. Mattermost also finds a
 * mention after a dot, a dash or an underscore.
 */
export function withoutMentions(text: string): string {
  return text.replace(/(?<![A-Za-z0-9])@(?=[\w&!])/g, '@\u200b');
}

/** Keeps an address from becoming a link in services that look for links themselves. */
export function withoutLinks(text: string): string {
  return text.replace(/:(?=\/\/)|\bwww(?=\.)/gi, '$&\u200b');
}
