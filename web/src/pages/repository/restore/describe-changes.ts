import type { Schemas } from '../../../api/client.ts';
import { countOf, formatCount } from '../../../parts/format.ts';

type Comparison = Schemas['Comparison'];

/** What differs between two versions, in a phrase: `3 commits, 2 refs moved, 14 files`. */
export function describeChanges({ refs, commits, files }: Comparison): string {
  const { added, removed } = commits;
  // Counts only end early at their limits: with short lists, everything else is `truncated`, too.
  const counted = [
    added.count > 0 && countOf(added.count, 'commit', 'commits'),
    removed.count > 0 && `${countOf(removed.count, 'commit', 'commits')} no longer there`,
    refs.added > 0 && `${countOf(refs.added, 'branch or tag', 'branches and tags')} added`,
    refs.moved > 0 && `${formatCount(refs.moved)} moved`,
    refs.removed > 0 && `${formatCount(refs.removed)} removed`,
    ...describeFiles(files),
  ].filter((part) => part !== false);
  return counted.length === 0 ? 'Nothing' : counted.join(', ');
}

function describeFiles({ added, changed, removed }: Comparison['files']): (string | false)[] {
  const sum = added + changed + removed;
  return [sum > 0 && countOf(sum, 'file', 'files')];
}
