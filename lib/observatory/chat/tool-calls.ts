import { AppError } from '../../platform/errors.ts';
import { fence } from '../../platform/fence.ts';
import { orAborted } from '../../platform/linked-signal.ts';
import type { Log } from '../../platform/log.ts';
import type { Redactor } from '../../platform/redaction.ts';
import type { ToolHandles } from '../../tools/index.ts';
import { runTool } from '../../tools/run-tool.ts';
import {
  readTools,
  reportEmail,
  type SendReportEmail,
  sendReportEmailTool,
} from './agent-tools.ts';
import { type AskingHandles, askPerson, type Decision } from './ask-person.ts';
import type { Emit, ToolArguments } from './events.ts';

/** A call as the model asked for it: `args` need not be an object. */
export interface ModelToolCall {
  tool_call_id: string;
  name: string;
  args: unknown;
}

/** What became of a call, as it is answered and stored (decisions 5, /chat data). */
export type ToolExecution = {
  tool_call_id: string;
  name: string;
  args: ToolArguments;
  success: boolean;
  duration_ms: number;
} & ({ result: string } | { error: string });

export interface CallingHandles extends AskingHandles {
  redactor: Redactor;
  tools: ToolHandles;
  sendReportEmail: SendReportEmail;
}

export interface CallContext {
  username: string;
  /** Can a person be asked? Not over POST /chat (spec 2, rule 4). */
  canAsk: boolean;
  signal: AbortSignal;
  emit: Emit;
}

/** Longest result that the model, the client and the stored turn get, in characters. */
const LONGEST_RESULT = 16_000;
/** Arguments that are longer, as JSON, fit no tool. */
const LONGEST_ARGUMENTS = 300_000;

const refusals: Record<Exclude<Decision, 'approved'>, string> = {
  rejected: 'The person rejected this call. It did not run.',
  expired: 'Nobody approved this call in time. It did not run.',
  unavailable: 'The approval could not be asked for: its store does not answer. It did not run.',
};
const CANNOT_ASK =
  'Not run: this chat cannot ask a person for approval. Tell the user to ask again in the streaming chat, POST /chat/stream.';

/** A finished call. `forModel` is what the model reads of it: what others wrote is fenced. */
export interface FinishedCall {
  execution: ToolExecution;
  forModel: string;
}

type End = (
  outcome: { result: string } | { error: string } | { refusal: string },
) => Promise<FinishedCall>;

/**
 * Runs one call with its events, tool_start and tool_end (spec 2, Events); one that needs a person first
 * asks. Never throws: what went wrong is in the execution, and the model goes on with it.
 */
export async function callTool(
  handles: CallingHandles,
  call: ModelToolCall,
  context: CallContext,
): Promise<FinishedCall> {
  const { redactor, clock } = handles;
  const { tool_call_id, name } = call;
  const { emit } = context;
  // What is shown, hashed, run and kept is the same.
  const sent = readArguments(call.args);
  const args = redactor.value(sent.args);
  let startedAt: number | null = null;

  const start = async () => {
    startedAt = clock.now();
    await emit({ type: 'tool_start', name, args, tool_call_id });
  };
  const end: End = async (outcome) => {
    const success = 'result' in outcome;
    const duration_ms = startedAt === null ? 0 : clock.now() - startedAt;
    const text = 'refusal' in outcome ? outcome.refusal : Object.values(outcome).join();
    const shown = cutResult(redactor.text(text));
    const said = success ? { result: shown } : { error: shown };
    await emit({ type: 'tool_end', name, tool_call_id, success, duration_ms, ...said });
    return {
      execution: { tool_call_id, name, args, success, duration_ms, ...said },
      forModel: 'refusal' in outcome ? shown : fence(shown),
    };
  };

  if (name === sendReportEmailTool.name) {
    if (sent.fault !== null) return end({ error: sent.fault });
    return mailReport(handles, { tool_call_id, args, start, end }, context);
  }
  await start();
  if (sent.fault !== null) return end({ error: sent.fault });
  const tool = readTools.get(name);
  if (!tool) return end({ error: `there is no tool ${name.slice(0, 100)}` });
  const { log, tools } = handles;
  const running = orAborted(context.signal, (signal) =>
    runTool(tool, args, tools, { signal, log }),
  );
  const outcome = await running.catch((error: unknown) => {
    // A tool answers its own failures: what is thrown otherwise is a fault of ours.
    if (!context.signal.aborted) throw error;
    return null;
  });
  if (outcome === null) return end({ refusal: `${name} was cut off by the end of the turn` });
  if (!outcome.ok) return end({ error: outcome.message });
  return end({ result: JSON.stringify(redactor.value(outcome.output)) });
}

interface MailCall {
  tool_call_id: string;
  args: ToolArguments;
  start(): Promise<void>;
  end: End;
}

async function mailReport(
  handles: CallingHandles,
  { tool_call_id, args, start, end }: MailCall,
  { username, canAsk, signal, emit }: CallContext,
): Promise<FinishedCall> {
  const { name } = sendReportEmailTool;
  if (!canAsk) return end({ refusal: CANNOT_ASK });
  const parsed = reportEmail.safeParse(args);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    return end({ error: `invalid arguments: ${faults.join('; ').slice(0, 500)}` });
  }
  const show = (confirm_id: string) =>
    emit({ type: 'confirm_required', confirm_id, name, args, tool_call_id });
  const decision = await askPerson(handles, { username, tool: name, args, signal, show });
  if (decision !== 'approved') return end({ refusal: refusals[decision] });
  await start();
  try {
    // Not with the turn's signal: what a person allowed is finished, and what became of it is known.
    const sent = await handles.sendReportEmail({ username, ...parsed.data });
    return await end({ result: JSON.stringify(sent) });
  } catch (error) {
    return end({ error: explain(error, handles.log) });
  }
}

/**
 * A model may send no arguments, or what is none: text that is no JSON, a list. That is a fault, because
 * a tool that ran without arguments would do something else than was asked for.
 */
function readArguments(sent: unknown): { args: ToolArguments; fault: string | null } {
  if (sent === null || sent === undefined) return { args: {}, fault: null };
  if (typeof sent !== 'object' || Array.isArray(sent)) {
    return { args: {}, fault: 'invalid arguments: they are not a JSON object' };
  }
  if (JSON.stringify(sent).length > LONGEST_ARGUMENTS) {
    return { args: {}, fault: `invalid arguments: longer than ${LONGEST_ARGUMENTS} characters` };
  }
  return { args: { ...sent }, fault: null };
}

/** A result that is too long ends with a note that says so. */
function cutResult(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  const note = `\n[cut: the first ${LONGEST_RESULT} of ${text.length} characters; ask for less, or for a narrower part]`;
  return text.slice(0, LONGEST_RESULT).toWellFormed() + note;
}

function explain(error: unknown, log: Log): string {
  if (error instanceof AppError && error.code !== 'INTERNAL_ERROR') return error.message;
  log.error('a report could not be mailed', { error });
  return 'the report could not be mailed, by an internal error; the log has more';
}
