import { fitItems } from './answer-budget.ts';
import type { RunFix } from './backup-source.ts';

/** The newest fixes of a run that have room, in their order. */
export function fitFixes(fixes: readonly RunFix[], room: number): RunFix[] {
  return fitItems(fixes.toReversed(), room).toReversed();
}

/** How the fixes are found that had no room. */
export function olderFixes(count: number): string {
  return `${count} older fixes of the run: search_backup_knowledge finds them`;
}
