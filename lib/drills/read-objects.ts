import { corrupt } from '../archives/base/archive-fault.ts';
import { isRejection } from '../archives/base/git-workspace.ts';
import type { Git } from '../git/git.ts';
import type { DrillEvidence } from '../records/drills/new-drill.ts';
import { cleanText } from '../text/clean-text.ts';

/** An object that is the same as at the source, but that git would not write today. Restoring has proven its bytes. */
const oldDefect = /^error in (?:blob|commit|tag|tree) [0-9a-f]+: \w+: /;
/** Names of refs, which restoring has compared; newer versions of git check them, too. */
const aboutRefs = /^(?:error|warning): (?:refs\/|packed-refs|HEAD\b)/;
const harmless = /^(?:warning\b|notice:|Checking |dangling |unreachable |root |tagged )/;
const MAX_PART = 2 ** 16;

/**
 * Makes git read every object and everything that its refs lead to (`git fsck`). Throws CORRUPT_ARCHIVE with the first
 * that is damaged or missing, and GitError for a problem with this machine.
 */
export async function readObjects(
  git: Git,
  gitDir: string,
  timeoutMs: number,
): Promise<Pick<DrillEvidence, 'objects' | 'defects'>> {
  let defects = 0;
  let fault: string | null = null;
  let rest = '';
  const judge = (line: string) => {
    if (line === '' || harmless.test(line) || aboutRefs.test(line)) return;
    if (oldDefect.test(line)) defects++;
    else fault ??= line;
  };
  const onProgress = (text: string) => {
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_PART);
    lines.forEach(judge);
  };
  const args = [`--git-dir=${gitDir}`, 'fsck', '--full', '--no-dangling', '--no-progress'];
  try {
    for await (const line of git.stream(args, '\n', { timeoutMs, onProgress })) judge(line);
    judge(rest);
  } catch (error) {
    judge(rest);
    if (!isRejection(error) || (fault === null && defects === 0)) throw error;
  }
  if (fault !== null) throw corrupt(cleanText(`git fsck: ${fault}`, 400));
  const counts = await git.read([`--git-dir=${gitDir}`, 'count-objects', '-v']);
  const numbers = [...counts.matchAll(/^(?:count|in-pack): (\d+)$/gm)].map(([, n]) => Number(n));
  return { objects: numbers.reduce((sum, n) => sum + n, 0), defects };
}
