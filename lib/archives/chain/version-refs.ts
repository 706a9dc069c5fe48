import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import { corrupt } from '../base/archive-fault.ts';
import type { VersionManifest } from '../base/manifest.ts';
import type { Chain } from './read-chain.ts';

/** The refs for a repository. */
export interface VersionRefs {
  /** Object ids by ref name, without HEAD. */
  refs: ReadonlyMap<string, string>;
  /** The target of HEAD: a branch, which may have no commit, or an object if HEAD is detached. */
  head: { branch: string } | { id: string };
}

const NOT_RECORDED = 'refs/heads/head-was-not-recorded';

/** Disallowed in ref names by git (git check-ref-format). */
const forbidden = /[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[./]$/;

/** The refs of a version. Throws CORRUPT_ARCHIVE if no repository can have these refs. */
export function refsOfManifest(manifest: VersionManifest): VersionRefs {
  const { HEAD, ...refs } = manifest.refs;
  const { head_branch: branch } = manifest;
  const named = new Map(Object.entries(refs));
  checkNames(named);
  if (branch === null) return { refs: named, head: headOf(HEAD, named) };
  if (!branch.startsWith('refs/heads/') || forbidden.test(branch) || named.get(branch) !== HEAD) {
    throw corrupt('the manifest has different commits for HEAD and its branch');
  }
  return { refs: named, head: { branch } };
}

/** The refs of an archive without versions. Its note does not say which branch HEAD is on. */
export function refsOfBundle(chain: Pick<Chain, 'refs'>): VersionRefs {
  const named = new Map(chain.refs.map(({ name, id }) => [name, id]));
  const head = named.get('HEAD');
  named.delete('HEAD');
  checkNames(named);
  // The worker writes the branch of HEAD last.
  const branch = chain.refs.findLast(
    ({ name, id }) => name.startsWith('refs/heads/') && id === head,
  );
  return { refs: named, head: branch ? { branch: branch.name } : headOf(head, named) };
}

/** Keeps a single branch, tag or other ref, and puts HEAD on it. Throws NOT_FOUND if there is no such ref. */
export function onlyRef({ refs }: VersionRefs, wanted: string): VersionRefs {
  const names = [wanted, `refs/heads/${wanted}`, `refs/tags/${wanted}`];
  const name = names.find((one) => refs.has(one));
  const id = name === undefined ? undefined : refs.get(name);
  if (name === undefined || id === undefined) {
    const shown = cleanText(wanted, 200);
    throw new AppError('NOT_FOUND', `this version has no branch or tag ${shown}`);
  }
  const only = new Map([[name, id]]);
  return { refs: only, head: name.startsWith('refs/heads/') ? { branch: name } : { id } };
}

/**
 * Detached at a commit. If the source's HEAD had none, and its branch is not recorded, HEAD is on a branch that does not
 * exist, and whose name says so: git needs one, and an existing branch would be a false claim.
 */
function headOf(id: string | undefined, refs: ReadonlyMap<string, string>): VersionRefs['head'] {
  if (id !== undefined) return { id };
  const isFree = (branch: string) =>
    [...refs.keys()].every((name) => !`${name}/`.startsWith(`${branch}/`));
  for (let number = 0; ; number++) {
    const branch = `${NOT_RECORDED}${number === 0 ? '' : `-${number}`}`;
    if (isFree(branch)) return { branch };
  }
}

/** Throws if git refuses a name, or if one name would have to be both a folder and a file. */
function checkNames(refs: ReadonlyMap<string, string>): void {
  for (const name of refs.keys()) {
    const parts = name.split('/');
    const parents = parts.slice(2).map((_, at) => parts.slice(0, at + 2).join('/'));
    const isAllowed =
      parts.length > 1 && parts[0] === 'refs' && !forbidden.test(name) && name.isWellFormed();
    if (isAllowed && !parents.some((parent) => refs.has(parent))) continue;
    throw corrupt(`it has a ref that git does not allow: ${cleanText(name, 200)}`);
  }
}
