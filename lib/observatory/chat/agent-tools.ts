import * as z from 'zod';
import { type Tool, tools } from '../../tools/index.ts';

/** A tool as the model sees it; what runs it depends on whether a person has to be asked. */
export interface AgentTool {
  name: string;
  description: string;
  input: z.ZodObject;
}

/** A tool that only reads: one of the MCP server's. */
export const readTools: ReadonlyMap<string, Tool> = new Map(
  tools.filter((tool) => !tool.needsConfirmation).map((tool) => [tool.name, tool]),
);

/** What a report by mail is made of. */
export const reportEmail = z.strictObject({
  subject: z.string().trim().min(1).max(200).meta({ description: 'Subject, one line.' }),
  recipients: z.array(z.string().trim().min(3).max(320)).min(1).max(50).nullish().meta({
    description: 'Mail addresses, of those that may get reports. Left out: all of those.',
  }),
  content_markdown: z
    .string()
    .trim()
    .min(1)
    .max(100_000)
    .meta({ description: 'The report, in Markdown.' }),
});

/** The agent's one tool that changes something: a person sees its arguments and allows it first. */
export const sendReportEmailTool: AgentTool = {
  name: 'send_report_email',
  description:
    'Mail a report. A person is shown the arguments and has to approve them; the result says whether it was sent.',
  input: reportEmail,
};

/** Every tool of the agent. */
export const agentTools: readonly AgentTool[] = [...readTools.values(), sendReportEmailTool];

const confirmed: ReadonlySet<string> = new Set([
  sendReportEmailTool.name,
  ...tools.filter((tool) => tool.needsConfirmation).map(({ name }) => name),
]);

/** Does a person have to allow the tool of this name, wherever it is offered? */
export function needsPerson(name: string): boolean {
  return confirmed.has(name);
}

/** Why such a tool does not run by itself, and where a person can be asked for it. */
export function explainConfirmation(name: string): string {
  const where = agentTools.some((tool) => tool.name === name)
    ? 'ask for it in the streaming chat, POST /chat/stream'
    : 'call it over MCP (POST /mcp), where the client asks the person; the chat does not offer it';
  return `${name} needs a person's approval: ${where}`;
}
