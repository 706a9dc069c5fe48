import type { AlertMessage } from '../../channels/channel.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { counted } from '../../text/units.ts';
import { composeMessage, type MessageFacts, ruleOf } from './message.ts';

/** Maximum number of incidents that a summary names. */
export const MAX_SUMMARIZED = 50;

/** An incident of a summary, as it is now. */
export interface SummarizedIncident
  extends Pick<
    MessageFacts,
    'incidentId' | 'rule' | 'summary' | 'openedAt' | 'repositories' | 'repositoryCount'
  > {
  /** ISO 8601; null while it is open. */
  resolvedAt: string | null;
}

/** What a summary of messages that were held is composed from. */
export interface SummaryFacts {
  id: string;
  /** What held the messages. */
  heldBy: string;
  /** When it ended, in ISO 8601. */
  at: string;
  total: number;
  /** How many of all incidents are still open. */
  open: number;
  /** Whether one of those is critical. */
  isCritical: boolean;
  /** The first ones: those that are open, and of them the critical ones. */
  incidents: readonly SummarizedIncident[];
}

const beginnings: Readonly<Record<string, string>> = {
  quiet_hours: 'After quiet hours',
  mute: 'After a mute',
  maintenance: 'After maintenance',
};

/** Composes the one message that tells what was held. The same facts give the same id. */
export function composeSummary(facts: SummaryFacts, link?: string | undefined): AlertMessage {
  const { id, heldBy, at, total, open, isCritical, incidents } = facts;
  const [only] = total === 1 ? incidents : [];
  return {
    id: `summary-${id}`,
    kind: 'summary',
    severity: open === 0 ? 'info' : isCritical ? 'critical' : 'warning',
    title: `${beginnings[heldBy] ?? 'No longer held back'}: ${only ? titleOf(only) : countOf(facts)}`,
    lines: [
      ...(only ? wholeOf(only) : incidents.flatMap(linesOf)),
      ...(total > incidents.length ? [`and ${total - incidents.length} more`] : []),
    ],
    at: new Date(at),
    ...(link === undefined ? {} : { link }),
  };
}

function countOf({ total, open }: SummaryFacts): string {
  if (open === 0) return `${counted(total, 'incident')}, all resolved`;
  return `${counted(total, 'incident')}, ${open === total ? 'all open' : `${open} still open`}`;
}

function titleOf({ rule, resolvedAt }: SummarizedIncident): string {
  return `${resolvedAt === null ? '' : 'Resolved: '}${ruleOf(rule)?.title ?? rule}`;
}

/** All that the messages would have said. */
function wholeOf(incident: SummarizedIncident): readonly string[] {
  const { openedAt, resolvedAt } = incident;
  const [kind, at] =
    resolvedAt === null ? (['opened', openedAt] as const) : (['resolved', resolvedAt] as const);
  const { lines } = composeMessage({ ...incident, kind, at, newCount: 0 });
  return [...lines, ...(resolvedAt === null ? [`Open since ${formatMinute(openedAt)}`] : [])];
}

function linesOf(incident: SummarizedIncident): string[] {
  const { rule, summary, openedAt, resolvedAt } = incident;
  const advice = ruleOf(rule)?.advice;
  return resolvedAt === null
    ? [
        `${titleOf(incident)}: ${summary} (since ${formatMinute(openedAt)})`,
        ...(advice === undefined ? [] : [`What to do: ${advice}`]),
      ]
    : [
        `${titleOf(incident)}: ${summary} (${formatMinute(openedAt)} to ${formatMinute(resolvedAt)})`,
      ];
}
