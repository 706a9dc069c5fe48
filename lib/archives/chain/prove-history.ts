import { incomplete } from '../base/archive-fault.ts';
import { isRejection, type Workspace } from '../base/git-workspace.ts';

/**
 * Proves that everything which the objects `tips` need is in a repository, given that this holds for `proven`.
 * Throws INCOMPLETE_HISTORY, and GitError for a problem with this machine.
 */
export async function proveHistory(
  { git }: Pick<Workspace, 'git'>,
  gitDir: string,
  { tips, proven }: { tips: Iterable<string>; proven: Iterable<string> },
): Promise<void> {
  const wanted = [...new Set(tips)];
  if (wanted.length === 0) return;
  // A tip that is also proven need only exist.
  const stdin = [...wanted, ...[...new Set(proven)].map((id) => `^${id}`)].join('\n');
  const args = [`--git-dir=${gitDir}`, 'rev-list', '--objects', '--stdin', '--quiet'];
  try {
    await git.read(args, { stdin: `${stdin}\n` });
  } catch (error) {
    if (!isRejection(error)) throw error;
    throw incomplete(`objects that its refs need are missing: ${error.message}`);
  }
}
