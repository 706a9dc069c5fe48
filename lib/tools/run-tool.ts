import type { z } from 'zod';
import { whileWanted } from '../caller.ts';
import { AppError } from '../errors.ts';
import { describeIssue, formatIssues } from '../http/validation-messages.ts';
import type { Log } from '../log/log.ts';
import { cutText } from '../security/redaction/cut-text.ts';
import { removeDeceptiveCharacters } from '../text/hidden-text.ts';
import { fitAnswer, jsonLength, MAX_ANSWER_CHARS } from './answer-budget.ts';
import { showOutput } from './show-output.ts';
import type { Tool, ToolCall, ToolDeps } from './tool.ts';

/** The outcome of a tool call: an answer that matches the output schema, or an error message. */
export type ToolOutcome =
  | { ok: true; output: Record<string, unknown> }
  | { ok: false; message: string };

/** Maximum characters of an error message. */
const MAX_ERROR_CHARS = 4_000;

export interface RunToolOptions extends Omit<ToolCall, 'maxChars'> {
  /** Maximum characters of the answer as JSON. Default MAX_ANSWER_CHARS. */
  maxChars?: number;
  log: Log;
}

/**
 * Parses the arguments, runs the tool, checks its answer against the output schema, removes secrets and keeps it
 * within `maxChars`. Never throws: an AppError becomes its message; anything else is logged with its cause and
 * becomes a fixed text. Logs name, duration and outcome of each call, never its arguments.
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
      const call = () => tool.handler(input, deps, { signal, caller, maxChars: room });
      const answer = await (tool.annotations.readOnlyHint ? whileWanted(signal, call) : call());
      // Secrets are removed first, so that cutting a text cannot leave half of one.
      return showOutput(tool.output.parse(answer), redactor);
    };
    let shown = await ask(maxChars);
    const length = jsonLength(shown);
    // A mask may be longer than its secret, which makes a full list too long: ask again with less room.
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
    return { ok: false, message: `${tool.name} failed with an internal error; see the log` };
  }
}

function parseArguments(schema: z.ZodObject, given: unknown): z.output<z.ZodObject> {
  const parsed = schema.safeParse(withoutNulls(schema, given ?? {}), { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new AppError('BAD_REQUEST', `invalid arguments: ${formatIssues(parsed.error)}`);
}

/** Some clients send null for omitted parameters, although the published schemas do not allow it. */
function withoutNulls({ shape }: z.ZodObject, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const isLeftOut = ([name, value]: [string, unknown]) =>
    value === null && Object.hasOwn(shape, name) && shape[name]?.safeParse(undefined).success;
  return Object.fromEntries(Object.entries(given).filter((entry) => !isLeftOut(entry)));
}
