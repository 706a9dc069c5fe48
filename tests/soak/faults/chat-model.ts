import { say } from '../../support/chat.ts';
import type { Gateway } from '../../support/gateway.ts';
import { ADDRESSES } from '../../support/mail.ts';

/** A chat model of the stand-in gateway that is controlled by the question. */
export interface ChatModel {
  /** Lets the answer to a question that begins with `Wait` continue. */
  release(question: string): void;
}

/**
 * Answers every question at once. A question that begins with `Wait` gets half a thought, and the rest when it is
 * released. For a question that begins with `Mail`, it mails a report with that subject.
 */
export function serveChatModel(gateway: Gateway): ChatModel {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (question: string) => {
    const gate = waiting.get(question) ?? Promise.withResolvers<void>();
    waiting.set(question, gate);
    return gate;
  };
  gateway.routes.set('/chat/completions', ({ body }, response) => {
    const messages = (body?.messages ?? []) as { role: string; content: string }[];
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    const question = asked.split('\n')[0] ?? '';
    const isFirst = messages.at(-1)?.role === 'user';
    if (question.startsWith('Wait')) {
      return void say({ text: ['Half a thought'], gate: gateOf(question).promise }, response);
    }
    if (question.startsWith('Mail') && isFirst) {
      const args = { subject: question, recipients: [ADDRESSES[0]], content_markdown: 'Well.' };
      return void say({ calls: [{ id: 'call_mail', name: 'send_report_email', args }] }, response);
    }
    return void say({ text: ['All is well.'] }, response);
  });
  return { release: (question) => gateOf(question).resolve() };
}
