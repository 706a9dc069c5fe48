import type { Schemas } from '../../api/client.ts';
import type { Outcome } from '../../parts/status.tsx';

type Report = Schemas['Report'];

/** The reports that can be made: what each is called, and what is in it. */
export const kinds = [
  {
    type: 'latest_backup',
    name: 'Latest backup',
    about: 'One run with its repositories, by default the latest, and the runs before it.',
    runHint: 'Empty: the latest run.',
  },
  {
    type: 'executive_summary',
    name: 'Summary of 30 days',
    about: 'Day by day, what fails, and which archives are the largest.',
    runHint: 'Empty: the 30 days up to now. With a run: the 30 days up to it.',
  },
  {
    type: 'failure_investigation',
    name: 'Investigation of a failure',
    about: 'What failed in a run, with its log, the last good commits and what to do.',
    runHint: 'Empty: the latest run with a failure.',
  },
] as const;

/** What a report is called; those of chats and agents have no kind of their own. */
export function nameOfKind(type: Report['report_type']): string {
  return kinds.find((kind) => kind.type === type)?.name ?? 'Written in a chat';
}

const deliveries: Record<Report['status'], Outcome> = {
  generated: { word: 'Not mailed', color: 'gray' },
  sent: { word: 'Mailed', color: 'teal' },
  failed: { word: 'Mail failed', color: 'red' },
};

/** What became of its latest mail. */
export function outcomeOfDelivery(status: Report['status']): Outcome {
  return deliveries[status];
}
