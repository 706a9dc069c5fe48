import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { World } from './world.ts';

type Random = () => number;

const MAX_FILE_BYTES = 40_000;

/**
 * Commits something new to a source, then overwrites and deletes as people do: force pushes, branches and tags that
 * come and go, another default branch. Sometimes it also removes the mirrors, which are only a cache.
 */
export async function changeRandomly(world: World, random: Random): Promise<void> {
  const { source, ledger, data } = world;
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = (names: string): string | undefined => {
    const found = names.split('\n').filter((name) => name !== '');
    return found[below(found.length)];
  };
  const text = () => {
    const letter = () => String.fromCharCode(33 + below(94));
    return Array.from({ length: below(MAX_FILE_BYTES) }, letter).join('');
  };
  let names = 0;
  const fresh = (kind: string) => `${kind}-${below(2 ** 30).toString(36)}-${++names}`;
  const commit = () => source.commit({ [`${fresh('file')}.txt`]: text() });
  const others = () =>
    source.git('branch', '--format=%(if)%(HEAD)%(then)%(else)%(refname:short)%(end)');

  const changes: (() => Promise<unknown>)[] = [
    commit,
    async function forcePush() {
      const count = Number(await source.git('rev-list', '--count', 'HEAD'));
      await source.git('reset', '--hard', '--quiet', `HEAD~${Math.min(count - 1, 1 + below(3))}`);
      await commit();
    },
    async function pushToBranch() {
      const home = await source.git('symbolic-ref', '--short', 'HEAD');
      await source.git('checkout', '--quiet', '-b', fresh('branch'));
      await commit();
      await source.git('checkout', '--quiet', home);
    },
    async function rewriteBranch() {
      const branch = pick(await others());
      if (branch !== undefined) await source.git('branch', '--force', branch, 'HEAD');
    },
    async function deleteBranch() {
      const branch = pick(await others());
      if (branch !== undefined) await source.git('branch', '--quiet', '-D', branch);
    },
    async function deleteTag() {
      const tag = pick(await source.git('tag'));
      if (tag !== undefined) await source.git('tag', '--delete', tag);
    },
    () => source.git('tag', fresh('light')),
    () => source.git('tag', '--annotate', '--message', 'a release', fresh('annotated')),
    async function switchDefault() {
      const branch = pick(await others());
      if (branch !== undefined) await source.git('checkout', '--quiet', branch);
    },
  ];
  await commit();
  for (let left = below(4); left > 0; left--) await changes[below(changes.length)]?.();
  if (below(8) === 0) {
    await rm(join(data, 'data', 'mirrors'), { recursive: true, force: true });
  }
  await ledger.noteSource();
}
