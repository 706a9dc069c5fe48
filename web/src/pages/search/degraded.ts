import type { Schemas } from '../../api/client.ts';

type Degradation = Schemas['SearchAnswer']['degradations'][number];

/** What to show instead of a reason that only an operator understands. */
const instead: Partial<Record<Degradation['kind'], string>> = {
  no_generation:
    'Only words were compared. Once vectors are built, similar spellings and meanings are found too: see Search in the settings.',
  no_extension:
    'Only words were compared: the database cannot store vectors, which find similar spellings and meanings.',
};

/** Explains in plain words what a search left out. */
export function explainDegraded(degradations: readonly Degradation[]): string {
  return degradations.map(({ kind, reason }) => instead[kind] ?? sentence(reason)).join(' ');
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
