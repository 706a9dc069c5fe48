import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGit } from '../../../lib/git/git.ts';
import { readClone } from '../../../lib/worker/backup/clone.ts';
import { adoptRefs, readSourceRefs } from '../../../lib/worker/mirror/mirror-refs.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { createRepository, git } from '../../support/git.ts';

const folder = useTemporaryFolder();
const runner = createGit({ PATH: process.env.PATH }, new AbortController().signal);

it('a mirror renames the refs of a clone so that git still finds them', async () => {
  const source = join(folder, 'source');
  const gitDir = join(folder, 'clone.git');
  const { commit } = await createRepository(source);
  const id = await commit({ one: '1' });
  // Includes names that sort differently by bytes, by characters and by path segments.
  const names = ['a', 'a-b', 'a0', 'b/c', 'b-', 'Z', 'é', '\u{10000}', '\uffee', 'with"quote', '#'];
  for (const name of names) await git(source, 'update-ref', `refs/heads/${name}/end`, id);
  await git(source, 'tag', '-m', 'a tag', 'v1');
  await git(folder, 'clone', '--quiet', '--mirror', '--no-local', source, gitDir);
  const { refs } = await readClone(runner, gitDir);
  expect(refs.size).toBe(names.length + 3);
  await adoptRefs(gitDir, refs);
  expect(await readSourceRefs(runner, { gitDir, objectFormat: 'sha1' })).toEqual(refs);
  // Also looked up one by one, for which git searches in the middle of the file.
  for (const [name, object] of refs) {
    const own = name === 'HEAD' ? 'refs/source-head' : name.replace('refs/', 'refs/source/');
    expect((await git(gitDir, 'rev-parse', '--verify', own)).trim()).toBe(object);
  }
});
