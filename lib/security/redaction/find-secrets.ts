import { findAuthorization } from './authorization.ts';
import { findCommandSecrets } from './command-secrets.ts';
import { findConnectionStrings } from './connection-strings.ts';
import { findEncoded } from './encoded-texts.ts';
import { findCutToken, findTokens } from './find-tokens.ts';
import { BARRIER } from './mask.ts';
import { findNamedValues } from './named-values.ts';
import type { OwnSecrets } from './own-secrets.ts';
import { findPrivateKeys } from './private-keys.ts';
import { mergeRanges, type Range } from './ranges.ts';
import { findCutUrlCredentials, findUrlCredentials } from './url-credentials.ts';
import { findParameters } from './url-parameters.ts';
import { type JoinedView, joinLines, readable } from './views.ts';

/** Texts are never cut shorter than this. A text of this length may end with a truncated secret. */
const MIN_CUT_LENGTH = 200;
/** How much of a text's end is searched for a truncated secret. */
const MAX_CUT_LENGTH = 16_384;

/** Finds one kind of secret. */
type Rule = (text: string) => Range[];

const rules: readonly Rule[] = [
  (text) => findTokens(text),
  findPrivateKeys,
  findAuthorization,
  findUrlCredentials,
  findNamedValues,
  findParameters,
  findCommandSecrets,
  findConnectionStrings,
];

/** How often, and how far, the surroundings of found secrets are searched again. */
const MAX_ROUNDS = 4;
const BESIDE = 512;

/**
 * Finds configured secrets and anything that looks like a credential, even when obfuscated.
 */
export function findSecrets(text: string, own: OwnSecrets): Range[] {
  const view = readable(text);
  const found = own.find(view.text);
  let open = blankOut(view.text, found);
  let more = findForms(open);
  // Masking a secret may reveal another one next to it; this makes redaction idempotent.
  for (let round = 0; round < MAX_ROUNDS && more.length > 0; round += 1) {
    found.push(...more);
    open = blankOut(open, more);
    more = findBeside(open, more);
  }
  const secrets = found.map(view.toSource);
  if (view.text !== text) secrets.push(...own.find(text));
  const joined = joinLines({ ...view, text: open });
  if (joined) {
    secrets.push(...own.find(joined.text).map(joined.toSource), ...findBroken(joined, text));
  }
  return secrets;
}

function findForms(text: string): Range[] {
  const found = [...findPlain(text), ...findEncoded(text, findPlain)];
  return text.length < MIN_CUT_LENGTH ? found : [...found, ...findCut(text)];
}

function findPlain(text: string): Range[] {
  return rules.flatMap((rule) => rule(text));
}

/** Finds credentials next to the given ranges. */
function findBeside(text: string, ranges: readonly Range[]): Range[] {
  const wide = ranges.map(({ start, end }) => ({
    start: Math.max(0, start - BESIDE),
    end: Math.min(text.length, end + BESIDE),
  }));
  return mergeRanges(wide).flatMap((part) =>
    findForms(text.slice(part.start, part.end))
      .map(({ start, end }) => ({ start: part.start + start, end: part.start + end }))
      // A match truncated by the part was already seen in full.
      .filter(
        ({ start, end }) =>
          (start > part.start || start === 0) && (end < part.end || end === text.length),
      ),
  );
}

/** Finds a truncated configured secret at the end of a text. */
export function findOwnCut(text: string, own: OwnSecrets): Range[] {
  return text.length < MIN_CUT_LENGTH ? [] : own.findCut(text);
}

/** An ordinary word or date, which happens to start the next line. */
const word = /^(?:[A-Za-z]{1,15}|\d[\d:.TZ-]{0,30})$/;

/** Finds tokens and base64 broken across lines, without ordinary words that follow on the next line. */
function findBroken(joined: JoinedView, source: string): Range[] {
  return [...findTokens(joined.text, joined.starts), ...findEncoded(joined.text, findPlain)]
    .map(joined.toSource)
    .flatMap(({ start, end }) => {
      const lines = source.slice(start, end).split(/(\\?\r?\n[ \t]*|\\{1,2}n[ \t]*)/);
      let stop = end;
      while (lines.length > 2 && word.test(lines.at(-1) ?? '')) {
        stop -= lines.splice(-2).join('').length;
      }
      return lines.length > 1 ? [{ start, end: stop }] : [];
    });
}

/** Finds a truncated secret at the end of a text. */
function findCut(text: string): Range[] {
  const offset = Math.max(0, text.length - MAX_CUT_LENGTH);
  const tail = text.slice(offset);
  return [...findCutToken(tail), ...findCutUrlCredentials(tail)].map(({ start, end }) => ({
    start: start + offset,
    end: end + offset,
  }));
}

/** Replaces ranges with a character that no rule matches. */
function blankOut(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const parts: string[] = [];
  let copied = 0;
  for (const { start, end } of mergeRanges(ranges)) {
    parts.push(text.slice(copied, start), BARRIER.repeat(end - start));
    copied = end;
  }
  return parts.join('') + text.slice(copied);
}
