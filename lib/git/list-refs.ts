import type { Git } from './git.ts';

/** The refs of a repository, or those that match `patterns`: object ids by full name, without HEAD. Throws GitError. */
export async function listRefs(
  git: Git,
  gitDir: string,
  patterns: readonly string[] = [],
): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  const args = [`--git-dir=${gitDir}`, 'for-each-ref', '--format=%(objectname) %(refname)'];
  for await (const line of git.stream([...args, ...patterns], '\n')) {
    const space = line.indexOf(' ');
    if (space > 0) refs.set(line.slice(space + 1), line.slice(0, space));
  }
  return refs;
}
