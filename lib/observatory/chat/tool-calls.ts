import { orAborted } from '../../async.ts';
import { AppError } from '../../errors.ts';
import { describeIssue, formatIssues } from '../../http/validation-messages.ts';
import type { Log } from '../../log/log.ts';
import type { Redactor } from '../../security/redaction/redactor.ts';
import { fence } from '../../text/fence.ts';
import { runTool } from '../../tools/run-tool.ts';
import type { ToolDeps } from '../../tools/tool.ts';
import type { Emit, ToolArguments, ToolExecution } from '../base/chat-events.ts';
import type { ReportMail, WrittenReport } from '../reports/send-report.ts';
import { readTools, reportEmail, sendReportEmailTool } from './agent-tools.ts';
import { type AskingDeps, askPerson, type Decision } from './confirmations.ts';

/** A call as the model requested it: `args` may be anything. */
export interface ModelToolCall {
  tool_call_id: string;
  name: string;
  args: unknown;
}

export interface CallingDeps extends AskingDeps {
  redactor: Redactor;
  tools: ToolDeps;
  reportMail: ReportMail;
}

export interface CallContext {
  username: string;
  /** Whether a person can be asked. POST /chat has no stream to ask on. */
  canAsk: boolean;
  signal: AbortSignal;
  emit: Emit;
}

/** Maximum characters of a result for the model, the client and the stored turn. */
const MAX_RESULT_CHARS = 16_000;
/** Maximum characters of the arguments as JSON. */
const MAX_ARGUMENT_CHARS = 300_000;

const refusals: Record<Exclude<Decision, 'approved'>, string> = {
  rejected: 'The person rejected this call. It did not run.',
  expired: 'Nobody approved this call in time. It did not run.',
  unavailable:
    'Approval could not be requested, because its store does not answer. It did not run.',
};
const CANNOT_ASK =
  'Not run: this chat cannot ask a person for approval. Tell the user to ask again in the streaming chat, POST /chat/stream.';

/** A finished call. `forModel` is the text for the model, in which foreign text is fenced. */
export interface FinishedCall {
  execution: ToolExecution;
  forModel: string;
}

/**
 * Runs one call and emits tool_start and tool_end. Asks a person first if the tool needs approval. Never
 * throws: errors are part of the execution, and the model continues with them.
 */
export async function callTool(
  deps: CallingDeps,
  call: ModelToolCall,
  context: CallContext,
): Promise<FinishedCall> {
  const { redactor, log, tools } = deps;
  const { name } = call;
  // The same redacted arguments are shown, hashed, run and stored.
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
      maxChars: MAX_RESULT_CHARS,
    }),
  );
  const outcome = await running.catch((error: unknown) => {
    // runTool never throws, except when the turn ends.
    if (!context.signal.aborted) throw error;
    return null;
  });
  if (outcome === null) return end({ refusal: `${name} was stopped by the end of the turn` });
  if (!outcome.ok) return end({ error: outcome.message });
  return end({ result: JSON.stringify(outcome.output) });
}

/** A call with the redacted arguments that its events show. */
type ShownCall = ModelToolCall & { args: ToolArguments };

/** Sends the start and the end of a call to the client. */
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
      decision?: Decision,
    ): Promise<FinishedCall> {
      const success = 'result' in outcome;
      const duration_ms = startedAt === null ? 0 : clock.now() - startedAt;
      const text = 'refusal' in outcome ? outcome.refusal : Object.values(outcome).join();
      const shown = cutResult(redactor.text(text));
      const said = {
        ...(success ? { result: shown } : { error: shown }),
        ...(decision === undefined || decision === 'unavailable' ? {} : { decision }),
      };
      await emit({ type: 'tool_end', name, tool_call_id, success, duration_ms, ...said });
      return {
        execution: { tool_call_id, name, args, success, duration_ms, ...said },
        forModel: 'refusal' in outcome ? shown : fence(shown),
      };
    },
  };
}

/**
 * Mails a report if a person approves it. Nobody is asked about a report that cannot be mailed, and the person
 * sees exactly the report that is mailed.
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
  const show = (confirm_id: string, expiresAt: number) => {
    const expires_at = new Date(expiresAt).toISOString();
    return emit({ type: 'confirm_required', confirm_id, name, args, tool_call_id, expires_at });
  };
  const decision = await askPerson(deps, { username, tool: name, args, signal, show });
  if (decision !== 'approved') return end({ refusal: refusals[decision] }, decision);
  await start();
  try {
    // Without the turn's signal: an approved mail is sent even if the turn ends, so that its outcome is known.
    const sent = await deps.reportMail.send({ username, ...report });
    return await end({ result: JSON.stringify(sent) }, decision);
  } catch (error) {
    return end({ error: explain(error, deps.log) }, decision);
  }
}

/** The report as it would be mailed, or why it cannot be mailed. */
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
 * Reads the model's arguments. Anything but an object is a fault: running the tool without arguments would do
 * something other than what was asked. Missing arguments are an empty object.
 */
function readArguments(sent: unknown): { args: ToolArguments; fault: string | null } {
  if (sent === null || sent === undefined) return { args: {}, fault: null };
  if (typeof sent !== 'object' || Array.isArray(sent)) {
    return { args: {}, fault: 'invalid arguments: they are not a JSON object' };
  }
  if (JSON.stringify(sent).length > MAX_ARGUMENT_CHARS) {
    return { args: {}, fault: `invalid arguments: longer than ${MAX_ARGUMENT_CHARS} characters` };
  }
  return { args: { ...sent }, fault: null };
}

/** Cuts a long result and says so at the end. */
function cutResult(text: string): string {
  if (text.length <= MAX_RESULT_CHARS) return text;
  const note = `\n[cut: the first ${MAX_RESULT_CHARS} of ${text.length} characters; ask for less, or for a narrower part]`;
  return text.slice(0, MAX_RESULT_CHARS).toWellFormed() + note;
}

function explain(error: unknown, log: Log): string {
  if (error instanceof AppError && error.code !== 'INTERNAL_ERROR') return error.message;
  log.error('a report could not be mailed', { error });
  return 'the report could not be mailed because of an internal error; see the log';
}
