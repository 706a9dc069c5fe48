import type { ModelMessage } from 'ai';
import type { HistoryMessage } from '../../records/chat-turns.ts';
import { FENCE_NOTICE, fence } from '../../text/fence.ts';
import type { ChatSource } from '../base/chat-events.ts';

export interface TurnFacts {
  now: number;
  /** Whether a person can be asked to approve a mail. */
  canAsk: boolean;
  /** Who may receive reports, or why no report can be mailed. */
  mail: string;
}

/** Writes the system prompt. */
export function writeInstructions({ now, canAsk, mail }: TurnFacts): string {
  return [
    'You answer questions about the backups of git repositories: runs, results per repository, logs, archives and what was learned from failures.',
    'Use the tools to look things up; do not answer from memory what a tool can answer. If the tools have no answer, say so.',
    'Name the evidence behind each claim: the ids of runs and logs (run 12, log 3456) and the full names of repositories (owner/name), as the tools gave them. Claim nothing that no result supports, and never make up an id.',
    'Answer in Markdown, in the language of the question, as short as the question allows.',
    canAsk
      ? `send_report_email mails a report: a person sees its arguments and approves or rejects it. ${mail} Call it only when the user asks for a mail. When it did not run, say so.`
      : 'You cannot mail a report in this chat, because nobody can be asked for approval here. When the user asks for a mail, tell them to use the streaming chat (POST /chat/stream).',
    FENCE_NOTICE,
    `The time is ${new Date(now).toISOString()}.`,
  ].join('\n\n');
}

/** The conversation so far and the question, with the records that were found for it. */
export function writeMessages(
  history: readonly HistoryMessage[],
  question: string,
  sources: readonly ChatSource[],
): ModelMessage[] {
  const retrieved = sources
    .map(({ title, source_type, snippet }) => `${title} (${source_type}): ${snippet}`)
    .join('\n\n');
  const content =
    sources.length === 0
      ? question
      : `${question}\n\nRecords that a search found for this question:\n${fence(retrieved)}`;
  return [...history, { role: 'user', content }];
}
