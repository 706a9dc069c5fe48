import { orAborted } from '../../async.ts';
import { AppError } from '../../errors.ts';
import { describeIssue, formatIssues } from '../../http/validation-messages.ts';
import type { Log } from '../../log.ts';
import { fence } from '../../security/fence.ts';
import type { Redactor } from '../../security/redaction/redactor.ts';
import type { ToolDeps } from '../../tools/index.ts';
import { runTool } from '../../tools/run-tool.ts';
import type { ReportMail, WrittenReport } from '../reports/send-report-email.ts';
import { readTools, reportEmail, sendReportEmailTool } from './agent-tools.ts';
import { type AskingDeps, askPerson, type Decision } from './ask-person.ts';
import type { Emit, ToolArguments } from './events.ts';

/** A call as the model asked for it: `args` need not be an object. */
export interface ModelToolCall {
  tool_call_id: string;
  name: string;
  args: unknown;
}

/** What became of a call, as it is answered and stored. */
export type ToolExecution = {
  tool_call_id: string;
  name: string;
  args: ToolArguments;
  success: boolean;
  duration_ms: number;
} & ({ result: string } | { error: string });

export interface CallingDeps extends AskingDeps {
  redactor: Redactor;
  tools: ToolDeps;
  reportMail: ReportMail;
}

export interface CallContext {
  username: string;
  /** Can a person be asked? Not over POST /chat, which has no stream to ask in. */
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

/**
 * Runs one call with its events, tool_start and tool_end; one that needs a person first asks. Never
 * throws: what went wrong is in the execution, and the model goes on with it.
 */
export async function callTool(
  deps: CallingDeps,
  call: ModelToolCall,
  context: CallContext,
): Promise<FinishedCall> {
  const { redactor, log, tools } = deps;
  const { name } = call;
  // What is shown, hashed, run and kept is the same.
  const sent = readArguments(call.args);
  const args = redactor.value(sent.args);
  if (name === sendReportEmailTool.name && sent.fault === null) {
    return mailReport(deps, { ...call, args }, context);
  }
  const { start, end } = eventsOf(deps, { ...call, args }, context);
  await start();
  if (sent.fault !== null) return end({ error: sent.fault });
  const tool = readTools.get(name);
  if (!tool) return end({ error: `there is no tool ${name.slice(0, 100)}` });
  const running = orAborted(context.signal, (signal) =>
    runTool(tool, args, tools, {
      signal,
      caller: context.username,
      log,
      maxChars: LONGEST_RESULT,
    }),
  );
  const outcome = await running.catch((error: unknown) => {
    // A tool answers its own failures: what is thrown otherwise is a fault of ours.
    if (!context.signal.aborted) throw error;
    return null;
  });
  if (outcome === null) return end({ refusal: `${name} was cut off by the end of the turn` });
  if (!outcome.ok) return end({ error: outcome.message });
  return end({ result: JSON.stringify(outcome.output) });
}

/** A call whose arguments are what every event of it shows. */
type ShownCall = ModelToolCall & { args: ToolArguments };

/** Tells the start and the end of one call to the client, and the end to the model. */
function eventsOf(
  { clock, redactor }: CallingDeps,
  { tool_call_id, name, args }: ShownCall,
  { emit }: CallContext,
) {
  let startedAt: number | null = null;
  return {
    async start(): Promise<void> {
      startedAt = clock.now();
      await emit({ type: 'tool_start', name, args, tool_call_id });
    },
    async end(
      outcome: { result: string } | { error: string } | { refusal: string },
    ): Promise<FinishedCall> {
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
    },
  };
}

/**
 * Mails a report when a person allows it. Nobody is asked about one that cannot be mailed, and who is
 * asked sees the very report that is mailed.
 */
async function mailReport(
  deps: CallingDeps,
  call: ShownCall,
  context: CallContext,
): Promise<FinishedCall> {
  const { username, canAsk, signal, emit } = context;
  if (!canAsk) return eventsOf(deps, call, context).end({ refusal: CANNOT_ASK });
  const prepared = readReport(deps, call.args);
  if ('fault' in prepared) {
    const { start, end } = eventsOf(deps, call, context);
    await start();
    return end({ error: prepared.fault });
  }
  const { report } = prepared;
  const { name, tool_call_id } = call;
  const args = { ...report };
  const { start, end } = eventsOf(deps, { name, tool_call_id, args }, context);
  const show = (confirm_id: string) =>
    emit({ type: 'confirm_required', confirm_id, name, args, tool_call_id });
  const decision = await askPerson(deps, { username, tool: name, args, signal, show });
  if (decision !== 'approved') return end({ refusal: refusals[decision] });
  await start();
  try {
    // Not with the turn's signal: what a person allowed is finished, and what became of it is known.
    const sent = await deps.reportMail.send({ username, ...report });
    return await end({ result: JSON.stringify(sent) });
  } catch (error) {
    return end({ error: explain(error, deps.log) });
  }
}

/** The report as it would be mailed, or why it cannot be. */
function readReport(
  { reportMail, log }: CallingDeps,
  args: ToolArguments,
): { report: WrittenReport } | { fault: string } {
  const parsed = reportEmail.safeParse(args, { error: describeIssue });
  if (!parsed.success) return { fault: `invalid arguments: ${formatIssues(parsed.error)}` };
  try {
    return { report: reportMail.prepare(parsed.data) };
  } catch (error) {
    return { fault: explain(error, log) };
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
