import type { Schemas } from '../../api/client.ts';
import type { Outcome } from '../../parts/status.tsx';

type Report = Schemas['Report'];

/** The kinds of reports that can be created: their names, and what they contain. */
export const kinds = [
  {
    type: 'latest_backup',
    name: 'Latest backup',
    about: 'One run with its repositories, by default the latest, and the runs before it.',
    runHint: 'Leave empty for the latest run.',
  },
  {
    type: 'executive_summary',
    name: '30-day summary',
    about: 'The runs of each day, what fails, and which archives are the largest.',
    runHint: 'Leave empty for the last 30 days, or enter a run for the 30 days up to it.',
  },
  {
    type: 'failure_investigation',
    name: 'Investigation of a failure',
    about: 'What failed in a run, with its log, the last good commits and what to do.',
    runHint: 'Leave empty for the latest run with a failure.',
  },
] as const;

/** The name of a kind of report. Reports that chats and agents wrote have no kind of their own. */
export function nameOfKind(type: Report['report_type']): string {
  return kinds.find((kind) => kind.type === type)?.name ?? 'Written in a chat';
}

const deliveries: Record<Report['status'], Outcome> = {
  generated: { word: 'Not mailed', color: 'gray' },
  sent: { word: 'Mailed', color: 'teal' },
  failed: { word: 'Mail failed', color: 'red' },
};

/** The outcome of a report's latest mail. */
export function outcomeOfDelivery(status: Report['status']): Outcome {
  return deliveries[status];
}
