import * as z from 'zod';
import { tools } from '../../tools/catalogue.ts';
import type { Tool } from '../../tools/tool.ts';

/** A tool as the model sees it. */
export interface AgentTool {
  name: string;
  description: string;
  input: z.ZodObject;
}

/** The tools of the MCP server that only read, by name. */
export const readTools: ReadonlyMap<string, Tool> = new Map(
  tools.filter((tool) => !tool.needsConfirmation).map((tool) => [tool.name, tool]),
);

/** The arguments of send_report_email. */
export const reportEmail = z.strictObject({
  subject: z.string().trim().min(1).max(200).meta({ description: 'Subject, one line.' }),
  recipients: z.array(z.string().trim().min(3).max(320)).min(1).max(50).nullish().meta({
    description: 'Mail addresses that may receive reports. Left out: all of them.',
  }),
  content_markdown: z
    .string()
    .trim()
    .min(1)
    .max(100_000)
    .meta({ description: 'The report, in Markdown.' }),
});

/** The only tool of the chat that changes something. A person sees its arguments and approves it first. */
export const sendReportEmailTool: AgentTool = {
  name: 'send_report_email',
  description:
    'Mail a report. A person is shown the arguments and has to approve them; the result says whether it was sent.',
  input: reportEmail,
};

/** Every tool of the chat. */
export const agentTools: readonly AgentTool[] = [...readTools.values(), sendReportEmailTool];

const confirmed: ReadonlySet<string> = new Set([
  sendReportEmailTool.name,
  ...tools.filter((tool) => tool.needsConfirmation).map(({ name }) => name),
]);

/** Whether the tool with this name needs a person's approval, in the chat or over MCP. */
export function needsPerson(name: string): boolean {
  return confirmed.has(name);
}

/** Explains why a tool that needs approval was not run, and where a person can be asked. */
export function explainConfirmation(name: string): string {
  const where = agentTools.some((tool) => tool.name === name)
    ? 'ask for it in the streaming chat, POST /chat/stream'
    : 'call it over MCP (POST /mcp), where the client asks the person; the chat does not offer it';
  return `${name} needs a person's approval: ${where}`;
}
