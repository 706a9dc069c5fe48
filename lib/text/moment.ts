import * as z from 'zod';

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A day or a time in ISO 8601, in UTC if it has no offset. Converted to UTC. */
export const momentParameter = (description: string) =>
  z
    .string()
    .refine((text) => toMoment(text) !== null, 'must be a date or a time in ISO 8601')
    .transform((text) => toMoment(text) ?? text)
    .meta({ description: `${description} ISO 8601: 2026-01-31, or 2026-01-31T08:15:00Z.` });

const iso8601 =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

function toMoment(text: string): string | null {
  const found = iso8601.exec(text);
  if (!found) return null;
  const isDay = text.length === 10;
  const milliseconds = Date.parse(isDay || found[1] !== undefined ? text : `${text}Z`);
  // Postgres has no year 0, and Date writes years after 9999 in another form.
  const isInRange = milliseconds >= FIRST_MS && milliseconds <= LAST_MS;
  return isInRange ? new Date(milliseconds).toISOString() : null;
}
