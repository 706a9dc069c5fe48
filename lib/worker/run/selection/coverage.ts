import type { CoverageFacts, SeenRepository } from '../../../records/recording/plans.ts';
import { cleanText } from '../../../text/clean-text.ts';
import type { Source } from '../../base/source.ts';
import type { Selected } from './select.ts';

const MAX_REASON_LENGTH = 500;

/** What a discovery found, and what the run does with each item; `unread` lists what is not a source. */
export function describeCoverage(
  { selected, leftOut }: Selected,
  unread: readonly SeenRepository[],
  isPushed: boolean,
): SeenRepository[] {
  const wasDiscovered = ({ host }: Source) => host !== null;
  const factsOf = ({ host }: Source): CoverageFacts => ({ ...host?.facts, pushed: isPushed });
  return [
    ...selected.filter(wasDiscovered).map((source) => ({
      name: source.name,
      plan: source.host?.plan ?? ('taken' as const),
      reason: cleanText(source.host?.fault ?? '', MAX_REASON_LENGTH),
      facts: factsOf(source),
    })),
    ...leftOut
      .filter(({ source }) => wasDiscovered(source))
      .map(({ source, why }) => ({
        name: source.name,
        plan: 'excluded' as const,
        reason: cleanText(why, MAX_REASON_LENGTH),
        facts: factsOf(source),
      })),
    ...unread,
  ];
}
