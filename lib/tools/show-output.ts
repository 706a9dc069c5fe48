import * as z from 'zod';
import type { Redactor } from '../security/redaction/redactor.ts';
import { removeDeceptiveCharactersFrom } from '../text/hidden-text.ts';

/** What every answer may have: how many secrets were taken out of it. */
export const redactedField = { redacted: z.number().optional() };

/**
 * An answer as it may leave: without secrets, and with how many there were where there were some; without
 * characters that hide or turn around text. Before it is written as JSON or cut, either of which can hide a
 * secret.
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
