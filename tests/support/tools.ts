import { runTool, type ToolHandles, type ToolOutcome, tools } from '../../lib/tools/index.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { silentLog } from './databases.ts';

/** The tool of a name. */
export function findTool(name: string) {
  const tool = tools.find((tool) => tool.name === name);
  if (!tool) throw new Error(`there is no tool ${name}`);
  return tool;
}

/** Handles of tools for a test: those that are not given fail when they are used. */
export function createTestHandles(given: Partial<ToolHandles>): ToolHandles & { clock: TestClock } {
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
    backups: absent('backups') as ToolHandles['backups'],
    archives: absent('archives') as ToolHandles['archives'],
    knowledge: null,
    reports: absent('reports') as ToolHandles['reports'],
    system: absent('system') as ToolHandles['system'],
    ...given,
    clock: createTestClock(),
  };
}

/** Calls a tool as a surface does. */
export function callTool(
  handles: ToolHandles,
  name: string,
  given: unknown = {},
): Promise<ToolOutcome> {
  const { signal } = new AbortController();
  return runTool(findTool(name), given, handles, { signal, log: silentLog });
}

/** The answer of a tool; throws when the tool failed. */
export async function answerOf(handles: ToolHandles, name: string, given: unknown = {}) {
  const outcome = await callTool(handles, name, given);
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.output;
}

/** The error text of a tool; throws when the tool did not fail. */
export async function faultOf(handles: ToolHandles, name: string, given: unknown = {}) {
  const outcome = await callTool(handles, name, given);
  if (outcome.ok) throw new Error(`${name} did not fail: ${JSON.stringify(outcome.output)}`);
  return outcome.message;
}
