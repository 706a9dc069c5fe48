import { createHash } from 'node:crypto';
import * as z from 'zod';
import { parseJson } from '../../json.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/**
 * One version of a repository: where every ref pointed, and the files that held it when it was made. Never
 * changed once written. Its SHA-256 is in the archive's note and in the next manifest.
 */
export const versionManifest = z.object({
  format: z.literal(1),
  /** `owner/name`. */
  repository: z.string(),
  /** Where it was read; null for the archive of an earlier release. */
  address: z.string().nullable(),
  version: z.int().min(1),
  at: z.iso.datetime(),
  run_id: z.int().nullable(),
  /** The branch of HEAD, which `refs` lacks if it had no commit; null if HEAD was detached, or its branch not reported. */
  head_branch: z.string().nullable(),
  /** Object ids by ref name, with `HEAD` if it has a commit. */
  refs: z.record(z.string().regex(/^(?:HEAD$|refs\/)/), objectId),
  files: z.array(
    z.object({
      name: z.string(),
      /** Null if it was not recorded, for an archive of an earlier release. */
      sha256: sha256.nullable(),
      size_bytes: z.int(),
    }),
  ),
  /** Commits that the last of the files needs from those before it. */
  prerequisites: z.array(objectId),
  /** SHA-256 of the manifest of the version before it; null for the first. */
  previous_sha256: sha256.nullable(),
});

export type VersionManifest = z.output<typeof versionManifest>;

/** Enough for 500,000 refs. A longer file is not a manifest. */
export const MAX_MANIFEST_BYTES = 64 * 2 ** 20;

/** The folder of an archive's manifests, in the folder of the archive. */
export function manifestFolder(archive: string): string {
  return archive.replace(/\.bundle$/, '.versions');
}

/** The file name of a manifest in its folder. */
export function manifestName(version: number): string {
  return `${version}.json`;
}

/** The file name of an archive's `n`th increment. */
export function incrementName(archive: string, n: number): string {
  return archive.replace(/\.bundle$/, `.${n}.bundle`);
}

/** The text of a manifest file. */
export function formatManifest(manifest: VersionManifest): string {
  return `${JSON.stringify(manifest, null, 1)}\n`;
}

/** Null if the text is not a manifest. */
export function parseManifest(text: string): VersionManifest | null {
  const parsed = versionManifest.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

/** SHA-256 of a file's content, in hexadecimal. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A digest of refs, in hexadecimal, equal exactly if all are equal. */
export function digestRefs(refs: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const name of [...refs.keys()].sort()) hash.update(`${refs.get(name)} ${name}\n`);
  return hash.digest('hex');
}

const KEPT = 'refs/kept';
const KEPT_OF_SOURCE = 'refs/kept/source';

/**
 * The name of a ref in a bundle. Refs that a source overwrote or deleted are kept in `refs/kept/<version>/`, so a
 * source's own refs with such names move aside.
 */
export function bundledName(name: string): string {
  return `${name}/`.startsWith(`${KEPT}/`) ? `${KEPT_OF_SOURCE}${name.slice(KEPT.length)}` : name;
}

/** The name that a ref of a bundle had at the source; null if it is a kept one. */
export function sourceName(name: string): string | null {
  if (!name.startsWith(`${KEPT}/`)) return name;
  const isOwn = `${name}/`.startsWith(`${KEPT_OF_SOURCE}/`);
  return isOwn ? `${KEPT}${name.slice(KEPT_OF_SOURCE.length)}` : null;
}

/** The name under which the ref of a version is kept once the source has overwritten or deleted it. */
export function keptName(version: number, name: string): string {
  // A source may have a ref `refs/HEAD`, too.
  if (name === 'HEAD') return `${KEPT}/${version}-head`;
  return `${KEPT}/${version}/${name.replace(/^refs\//, '')}`;
}
