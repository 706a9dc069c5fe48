import * as z from 'zod';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { MAX_ANSWER_CHARS } from '../../lib/tools/answer-budget.ts';
import { tools } from '../../lib/tools/catalogue.ts';
import { runTool, type ToolOutcome } from '../../lib/tools/run-tool.ts';
import { readTool, type Tool, type ToolDeps } from '../../lib/tools/tool.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { silentLog } from './databases.ts';

/** The tool with a name. */
export function findTool(name: string) {
  const tool = tools.find((tool) => tool.name === name);
  if (!tool) throw new Error(`there is no tool ${name}`);
  return tool;
}

/** A tool that exists only in tests; by default without parameters and with any answer. */
export function testTool(
  name: string,
  handler: Tool['handler'],
  { input = {}, output }: { input?: z.ZodRawShape; output?: z.ZodRawShape } = {},
): Tool {
  return readTool({
    name,
    title: name,
    description: 'A tool of tests.',
    input: z.strictObject(input),
    output: output === undefined ? z.looseObject({}) : z.object(output),
    handler,
  });
}

/** Dependencies of tools for a test. Those that are not given throw when they are used. */
export function createTestToolDeps(given: Partial<ToolDeps>): ToolDeps & { clock: TestClock } {
  const absent = (name: string) =>
    new Proxy(
      {},
      {
        get() {
          throw new Error(`this test gives no ${name}`);
        },
      },
    );
  return {
    backups: absent('backups') as ToolDeps['backups'],
    archives: absent('archives') as ToolDeps['archives'],
    knowledge: null,
    reports: absent('reports') as ToolDeps['reports'],
    system: absent('system') as ToolDeps['system'],
    redactor: createRedactor([]),
    ...given,
    clock: createTestClock(),
  };
}

/** Calls a tool as a surface does. */
export function callTool(
  deps: ToolDeps,
  name: string,
  given: unknown = {},
  maxChars = MAX_ANSWER_CHARS,
): Promise<ToolOutcome> {
  const { signal } = new AbortController();
  return runTool(findTool(name), given, deps, { signal, log: silentLog, maxChars });
}

/** The answer of a tool; throws when the tool failed. */
export async function answerOf(deps: ToolDeps, name: string, given: unknown = {}) {
  const outcome = await callTool(deps, name, given);
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.output;
}

/** The error text of a tool; throws when the tool did not fail. */
export async function faultOf(deps: ToolDeps, name: string, given: unknown = {}) {
  const outcome = await callTool(deps, name, given);
  if (outcome.ok) throw new Error(`${name} did not fail: ${JSON.stringify(outcome.output)}`);
  return outcome.message;
}
