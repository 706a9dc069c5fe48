import * as z from 'zod';
import type { Redactor } from '../security/redaction/redactor.ts';
import { removeDeceptiveCharactersFrom } from '../text/hidden-text.ts';

/** A field of every answer: how many secrets were removed. */
export const redactedField = { redacted: z.number().optional() };

/**
 * Removes secrets from an answer, and adds their number; also removes characters that hide or reorder text. Must
 * run before the answer is cut or written as JSON, because both can hide a secret.
 */
export function showOutput<Output extends object>(
  output: Output,
  redactor: Redactor,
): Output & { redacted?: number } {
  const { value, redacted } = redactor.counted(removeDeceptiveCharactersFrom(output));
  if (redacted === 0) return value;
  const { redacted: before = 0 } = value as { redacted?: number };
  return { ...value, redacted: before + redacted };
}
