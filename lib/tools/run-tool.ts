import type { z } from 'zod';
import { AppError } from '../errors.ts';
import { describeIssue, formatIssues } from '../http/validation-messages.ts';
import type { Log } from '../log.ts';
import { cutText } from '../text/cut-text.ts';
import { removeDeceptiveCharacters } from '../text/hidden-text.ts';
import { fitAnswer, jsonLength, MAX_ANSWER_CHARS } from './answer-budget.ts';
import { showOutput } from './show-output.ts';
import type { Tool, ToolCall } from './tool.ts';
import type { ToolDeps } from './tool-deps.ts';

/** How a call of a tool ended: with an answer of the tool's output shape, or with why there is none. */
export type ToolOutcome =
  | { ok: true; output: Record<string, unknown> }
  | { ok: false; message: string };

/** Most characters of an error's message. */
const MAX_ERROR_CHARS = 4_000;

export interface RunToolOptions extends Omit<ToolCall, 'maxChars'> {
  /** Most characters of the answer as JSON. Default MAX_ANSWER_CHARS. */
  maxChars?: number;
  log: Log;
}

/**
 * Parses the arguments, runs the tool, holds its answer against its output schema, takes secrets out of it
 * and keeps it within `maxChars`. Never throws: an AppError becomes its message, anything else is logged
 * with its cause and becomes a fixed text. Writes one log record with name, duration and outcome, never
 * arguments.
 */
export async function runTool(
  tool: Tool,
  given: unknown,
  deps: ToolDeps,
  { signal, caller, log, maxChars = MAX_ANSWER_CHARS }: RunToolOptions,
): Promise<ToolOutcome> {
  const { clock, redactor } = deps;
  const startedAt = clock.now();
  const record = (outcome: string, fields = {}) =>
    log.info('tool call', {
      tool: tool.name,
      duration_ms: clock.now() - startedAt,
      outcome,
      ...fields,
    });
  try {
    signal.throwIfAborted();
    const input = parseArguments(tool.input, given);
    const ask = async (room: number) => {
      const answer = await tool.handler(input, deps, { signal, caller, maxChars: room });
      // Secrets first, so that no half of one is left where a text is cut.
      return showOutput(tool.output.parse(answer), redactor);
    };
    let shown = await ask(maxChars);
    const length = jsonLength(shown);
    // A mask may be longer than its secret, so that a full list grows: then it is asked for with less room.
    if (length > maxChars && tool.annotations.readOnlyHint) {
      shown = await ask(Math.floor((maxChars * maxChars) / length));
    }
    const output = fitAnswer(shown, maxChars);
    record('ok');
    return { ok: true, output };
  } catch (error) {
    if (error instanceof AppError && error.code !== 'INTERNAL_ERROR') {
      if (error.cause !== undefined)
        log.warn('a tool could not answer', { tool: tool.name, error });
      record('error', { code: error.code });
      const message = redactor.text(removeDeceptiveCharacters(error.message));
      return { ok: false, message: cutText(message, MAX_ERROR_CHARS) };
    }
    if (signal.aborted) {
      record('canceled');
      return { ok: false, message: `${tool.name} was canceled` };
    }
    log.error('a tool failed', { tool: tool.name, error });
    record('internal error');
    return { ok: false, message: `${tool.name} failed with an internal error; the log has more` };
  }
}

function parseArguments(schema: z.ZodObject, given: unknown): z.output<z.ZodObject> {
  const parsed = schema.safeParse(withoutNulls(schema, given ?? {}), { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new AppError('BAD_REQUEST', `invalid arguments: ${formatIssues(parsed.error)}`);
}

/** Clients that fill in every parameter send null for what is left out. The published schemas do not say so. */
function withoutNulls({ shape }: z.ZodObject, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const isLeftOut = ([name, value]: [string, unknown]) =>
    value === null && Object.hasOwn(shape, name) && shape[name]?.safeParse(undefined).success;
  return Object.fromEntries(Object.entries(given).filter((entry) => !isLeftOut(entry)));
}
