import type { z } from 'zod';

/** Most characters of a list of faults. */
const MAX_CHARS = 500;

const withArticle: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  string: 'a text',
  int: 'an integer',
};

/** Words what is wrong with a value where its schema does not: for `safeParse(value, { error })`. */
export const wordFault: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${withArticle[issue.expected] ?? `a ${issue.expected}`}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'unrecognized_keys':
      return `unknown: ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : issue.origin === 'array'
          ? `must have at most ${issue.maximum} entries`
          : `must be at most ${issue.maximum}`;
    case 'too_small':
      return issue.origin === 'string'
        ? `must have at least ${issue.minimum} characters`
        : issue.origin === 'array'
          ? `must have at least ${issue.minimum} entries`
          : `must be at least ${issue.minimum}`;
    default:
      return undefined;
  }
};

/** What is wrong with an input, each fault after the field it is in: `days: must be at least 1; …`. */
export function listFaults(error: z.ZodError): string {
  const faults = error.issues.map(({ path, message }) => [...path, message].join(': '));
  return faults.join('; ').slice(0, MAX_CHARS);
}
