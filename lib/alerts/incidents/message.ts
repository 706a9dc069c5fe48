import type { AlertMessage } from '../../channels/channel.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { type Rule, type RuleName, ruleNames } from '../rules/rule.ts';
import { rules } from '../rules/rules.ts';

/** Maximum number of repositories that a message names. */
export const MAX_NAMED = 10;

/** What a message about an incident is composed from. */
export interface MessageFacts {
  incidentId: string;
  kind: 'opened' | 'reminder' | 'resolved';
  /** ISO 8601. */
  at: string;
  rule: string;
  summary: string;
  openedAt: string;
  /** The first repositories that are concerned now, or that were when the incident was resolved. */
  repositories: readonly { name: string; reason: string }[];
  repositoryCount: number;
  /** How many of them joined since the last message. */
  newCount: number;
}

const prefixes = { opened: '', reminder: 'Still: ', resolved: 'Resolved: ' } as const;

/**
 * Composes a message, with a link to the page if there is one. The same facts give the same id, so that a receiver can
 * recognize a repetition.
 */
export function composeMessage(facts: MessageFacts, link?: string | undefined): AlertMessage {
  const { incidentId, kind, at, summary, openedAt, repositories, repositoryCount, newCount } =
    facts;
  const rule = ruleOf(facts.rule);
  const severity = rule?.severity ?? 'warning';
  const named = repositories.map(({ name, reason }) =>
    reason === '' || kind === 'resolved' ? name : `${name}: ${reason}`,
  );
  const more = repositoryCount - named.length;
  const since = `since ${formatMinute(openedAt)}`;
  return {
    id: `incident-${incidentId}-${kind}-${Date.parse(at)}`,
    kind,
    severity: kind === 'resolved' ? 'info' : severity,
    title: `${prefixes[kind]}${rule?.title ?? facts.rule}`,
    lines: [
      ...(kind === 'resolved' && rule !== null ? [rule.resolved, `It was: ${summary}`] : [summary]),
      ...(kind === 'reminder' && newCount > 0
        ? [`${newCount} joined since the last message.`]
        : []),
      ...named,
      ...(more > 0 ? [`and ${more} more`] : []),
      ...(rule === null || kind === 'resolved' ? [] : [`What to do: ${rule.advice}`]),
      ...(kind === 'opened' ? [] : [`Incident ${incidentId}, ${since}`]),
      ...(kind === 'reminder'
        ? ['This reminder comes once a day until somebody acknowledges the incident.']
        : []),
    ],
    at: new Date(at),
    ...(link === undefined ? {} : { link }),
  };
}

/** The rule of this name; null for one of another release. */
export function ruleOf(name: string): Rule | null {
  return (ruleNames as readonly string[]).includes(name) ? rules[name as RuleName] : null;
}
