import type { z } from 'zod';

const MAX_CHARS = 500;

const withArticle: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  string: 'a string',
  int: 'an integer',
};

/** The message for an issue whose schema has none, for `safeParse(value, { error })`. */
export const describeIssue: z.core.$ZodErrorMap = (issue) => {
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

/** Formats all issues with their paths: `days: must be at least 1; …`. */
export function formatIssues(error: z.ZodError): string {
  const faults = error.issues.map(({ path, message }) => [...path, message].join(': '));
  return faults.join('; ').slice(0, MAX_CHARS);
}
