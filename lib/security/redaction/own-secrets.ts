import { MASK } from './mask.ts';
import type { Range } from './ranges.ts';
import { readable } from './views.ts';

/** Shorter configured values are ignored: they would match ordinary words. */
const MIN_REDACTED_LENGTH = 8;

/** Finds configured secrets in a text, in all likely encodings. */
export interface OwnSecrets {
  find(text: string): Range[];
  /** Finds a truncated secret at the end of a text. */
  findCut(text: string): Range[];
}

/** Prepares the search for secrets. Ignores those shorter than `MIN_REDACTED_LENGTH`. */
export function prepareOwnSecrets(secrets: readonly string[]): OwnSecrets {
  const searched = secrets.filter((secret) => secret.length >= MIN_REDACTED_LENGTH);
  // A part of the mask itself would be masked repeatedly.
  const forms = [...new Set(searched.flatMap(writtenForms).flatMap(asShown))].filter(
    (form) => !MASK.includes(form),
  );
  // Longest first, because the first alternative of a pattern wins.
  const ordered = forms.toSorted((a, b) => b.length - a.length);
  let pattern: RegExp | null = null;
  return {
    find(text) {
      if (ordered.length === 0) return [];
      pattern ??= new RegExp(ordered.map(quoteForm).join('|'), 'g');
      const found: Range[] = [];
      pattern.lastIndex = 0;
      for (let at = pattern.exec(text); at !== null; at = pattern.exec(text)) {
        found.push({ start: at.index, end: at.index + at[0].length });
        // Matches may overlap.
        pattern.lastIndex = at.index + 1;
      }
      return found;
    },
    findCut(text) {
      const end = text.endsWith('…') ? text.length - 1 : text.length;
      return forms.flatMap((form) => {
        const head = form.slice(0, MIN_REDACTED_LENGTH);
        let start = text.indexOf(head, end - form.length + 1);
        while (start >= 0 && !form.startsWith(text.slice(start, end))) {
          start = text.indexOf(head, start + 1);
        }
        return start < 0 ? [] : [{ start, end }];
      });
    },
  };
}

/** Adds the form without invisible characters. */
function asShown(form: string): string[] {
  const shown = readable(form).text;
  return shown.length >= MIN_REDACTED_LENGTH ? [form, shown] : [form];
}

/** The encodings of a secret: plain, JSON, URL, base64, hexadecimal. */
function writtenForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inAscii = inJson.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const inStrictUrl = inUrl.replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const inUrls = [inUrl, inStrictUrl, inUrl.replaceAll('%20', '+'), inUrl.replaceAll('%2F', '/')];
  const hex = Buffer.from(secret).toString('hex');
  const inAllPercent = hex.replace(/../g, (byte) => `%${byte}`);
  return [
    secret,
    inJson,
    inAscii,
    inJson.replaceAll('/', '\\/'),
    JSON.stringify(inJson).slice(1, -1),
    ...inUrls,
    ...inUrls.map((form) => form.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase())),
    inAllPercent,
    inAllPercent.toUpperCase(),
    hex,
    hex.toUpperCase(),
    ...inBase64(secret),
  ];
}

/**
 * The base64 forms of a secret: on its own, and at each alignment within a longer encoded text, without
 * characters that also encode neighboring bytes.
 */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const alone = bytes.toString('base64');
  const within = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const end = Math.floor(((shift + bytes.length) * 8) / 6);
    return encoded.slice(Math.ceil((shift * 8) / 6), end);
  });
  const forms = [alone, alone.replace(/=+$/, ''), ...within];
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** Escapes a form for a regular expression. */
function quoteForm(form: string): string {
  return form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
