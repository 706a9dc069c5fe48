import type { z } from 'zod';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { ToolHandles } from './handles.ts';
import type { Tool } from './tool.ts';

/** How a call of a tool ended: with an answer of the tool's output shape, or with why there is none. */
export type ToolOutcome =
  | { ok: true; output: Record<string, unknown> }
  | { ok: false; message: string };

export interface RunToolOptions {
  signal: AbortSignal;
  log: Log;
}

/**
 * Parses the arguments, runs the tool and holds its answer against its output schema. Never throws: an
 * AppError becomes its message, anything else is logged with its cause and becomes a fixed text (spec 3,
 * Errors). Writes one log record with name, duration and outcome, never arguments.
 */
export async function runTool(
  tool: Tool,
  given: unknown,
  handles: ToolHandles,
  { signal, log }: RunToolOptions,
): Promise<ToolOutcome> {
  const { clock } = handles;
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
    const output = tool.output.parse(await tool.handler(input, handles, { signal }));
    record('ok');
    return { ok: true, output };
  } catch (error) {
    if (error instanceof AppError && error.code !== 'INTERNAL_ERROR') {
      if (error.cause !== undefined)
        log.warn('a tool could not answer', { tool: tool.name, error });
      record('error', { code: error.code });
      return { ok: false, message: error.message };
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
  const parsed = schema.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  throw new AppError('BAD_REQUEST', `invalid arguments: ${faults.join('; ').slice(0, 500)}`);
}
