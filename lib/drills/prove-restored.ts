import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { corrupt } from '../archives/base/archive-fault.ts';
import { createWorkspaces, isRejection } from '../archives/base/git-workspace.ts';
import { digestRefs } from '../archives/base/manifest.ts';
import { type Git, GitError } from '../git/git.ts';
import type { DrillEvidence } from '../records/drills/new-drill.ts';
import type { VersionHashes } from '../records/drills/record.ts';
import {
  hasRoomFor,
  MAX_ENTRIES,
  measureWorkTree,
  type WorkTreeSize,
  WorkTreeTooLarge,
} from '../restore/measure-work-tree.ts';
import { type RestoreContext, type Restored, restoreVersion } from '../restore/restore.ts';
import { cleanText } from '../text/clean-text.ts';
import { readObjects } from './read-objects.ts';

/** The longest path of the system, without its NUL. Git can write longer ones, but they could not be removed. */
const MAX_PATH_BYTES = 4_095;
/** Characters of refs in a row of the ledger: about 1,000 refs. */
const MAX_REF_LIST = 2 ** 16;
/** The same as for restoring: enough for a slow disk. */
const limits = { gitTimeoutMs: 60 * 60_000, gitBytesPerMs: 200 };

/** The repository must not influence how its files are written: they are read back and compared byte by byte. */
const AS_STORED = '* -text -eol -crlf -ident -filter -working-tree-encoding\n';

/** Why a drill could not prove anything, although nothing is known to be wrong with the archive. */
export class DrillIncomplete extends Error {
  override readonly name = 'DrillIncomplete';
}

export interface ProveOptions extends RestoreContext {
  /** Where the archive is. */
  archives: Pick<Parameters<typeof restoreVersion>[0], 'root' | 'repository' | 'choice'>;
  /** An empty folder on the disk that has room for it. The caller removes it. */
  scratch: string;
  /** What the database knows about a version; null if nothing, or if the database is unreachable. */
  findRecorded(version: number): Promise<VersionHashes | null>;
  /** Called with what has been found so far. */
  onFound(
    restored: Pick<Restored, 'version' | 'sizeBytes'>,
    evidence: Partial<DrillEvidence>,
  ): void;
}

/**
 * Restores a version with the code of `restore`, and proves the result: git reads every object and finds everything
 * that its refs need, the refs are the recorded ones, and the files of the default branch can be written and have the
 * content that its tree names. Throws ArchiveFault if the archive is damaged, and DrillIncomplete or AppError if that
 * cannot be determined.
 */
export async function proveRestorable(options: ProveOptions): Promise<void> {
  const { archives, scratch, environment, clock, signal, onFound } = options;
  const target = join(scratch, 'restored.git');
  const restored = await restoreVersion(
    { ...archives, ref: null, isBare: true, isLimited: true, target },
    options,
  );
  const { files, isRecorded: files_recorded, archiveFiles } = restored;
  onFound(restored, {
    ...{ files, files_recorded },
    ...(archiveFiles === null ? {} : { archive_files: archiveFiles }),
  });
  const workspaces = createWorkspaces({
    ...{ scratchFolder: scratch, scratchName: 'the folder of the drill (DATA_DIR)' },
    ...{ environment, clock, limits },
  });
  await workspaces.use({ signal, sizeBytes: 0 }, async ({ git, folder }) => {
    const report = (evidence: Partial<DrillEvidence>) => onFound(restored, evidence);
    report(await readObjects(git, target, timeoutFor(restored.sizeBytes)));
    report(await compareRefs(git, target, restored, options));
    report(await checkOut(git, target, join(folder, 'tree'), restored.headCommit));
  });
}

function timeoutFor(sizeBytes: number): number {
  return limits.gitTimeoutMs + sizeBytes / limits.gitBytesPerMs;
}

async function compareRefs(
  git: Git,
  gitDir: string,
  { version, manifest, headCommit }: Restored,
  { findRecorded }: ProveOptions,
): Promise<Partial<DrillEvidence>> {
  const found = new Map<string, string>();
  const list = [`--git-dir=${gitDir}`, 'for-each-ref', '--format=%(objectname) %(refname)'];
  for await (const line of git.stream(list, '\n')) {
    const space = line.indexOf(' ');
    found.set(line.slice(space + 1), line.slice(0, space));
  }
  const refs = found.size;
  const recordedHead = manifest?.refs.get('HEAD');
  // A detached HEAD may have been recorded as a tag, which git resolves to its commit.
  if (recordedHead !== undefined && (await commitOf(git, gitDir, recordedHead)) === headCommit) {
    found.set('HEAD', recordedHead);
  } else if (headCommit !== null) found.set('HEAD', headCommit);
  const refs_sha256 = digestRefs(found);
  const ref_list = listRefs(found);
  if (version === null || manifest === null) {
    // Restoring has compared them with the header of the bundle; nothing else is recorded.
    return { refs, refs_sha256, ref_list, refs_recorded_in: 'bundle' };
  }
  const recorded = await findRecorded(version);
  if (recorded !== null && recorded.manifestSha256 !== manifest.sha256) {
    throw corrupt(`version ${version} is not the one that the database has recorded`);
  }
  const isInDatabase = recorded !== null && recorded.refsSha256 !== '';
  if (refs_sha256 !== (isInDatabase ? recorded.refsSha256 : digestRefs(manifest.refs))) {
    throw corrupt(`the refs of version ${version} are not those that were recorded`);
  }
  return {
    ...{ refs, refs_sha256, ref_list, manifest_sha256: manifest.sha256 },
    refs_recorded_in: isInDatabase ? 'database' : 'manifest',
  };
}

/** The lines that `digestRefs` hashes, as many as fit into a row of the ledger. */
function listRefs(refs: ReadonlyMap<string, string>): string[] {
  const lines: string[] = [];
  let length = 0;
  for (const name of [...refs.keys()].sort()) {
    const line = `${refs.get(name)} ${name}`;
    length += line.length;
    if (length > MAX_REF_LIST) break;
    lines.push(line);
  }
  return lines;
}

async function commitOf(git: Git, gitDir: string, id: string): Promise<string | null> {
  return (await resolve(git, gitDir, `${id}^{commit}`)) ?? null;
}

async function resolve(git: Git, gitDir: string, revision: string): Promise<string | null> {
  const args = [`--git-dir=${gitDir}`, 'rev-parse', '--quiet', '--verify', '--end-of-options'];
  try {
    return (await git.read([...args, revision])).trim();
  } catch (error) {
    if (!isRejection(error)) throw error;
    return null;
  }
}

/** Writes the files of HEAD, reads them back, and compares each with what the tree of the commit names. */
async function checkOut(
  git: Git,
  gitDir: string,
  folder: string,
  head: string | null,
): Promise<Partial<DrillEvidence>> {
  if (head === null) return {};
  const tree_sha = (await git.read([`--git-dir=${gitDir}`, 'rev-parse', `${head}^{tree}`])).trim();
  const listed = await measure(git, gitDir, head);
  if (Buffer.byteLength(folder) + 1 + listed.longestPath > MAX_PATH_BYTES) {
    throw new DrillIncomplete('its default branch has a path that is too long to check out here');
  }
  await mkdir(folder);
  if (!(await hasRoomFor(folder, listed))) {
    throw new DrillIncomplete('DATA_DIR has too little space to check out the default branch');
  }
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await appendFile(join(gitDir, 'info', 'attributes'), AS_STORED);
  const settings = ['core.bare=false', 'core.fileMode=true', 'core.autocrlf=false'];
  const options = [
    ...settings.flatMap((setting) => ['-c', setting]),
    `--git-dir=${gitDir}`,
    `--work-tree=${folder}`,
  ];
  try {
    await git.read([...options, 'read-tree', '--reset', '-u', head], {
      timeoutMs: limits.gitTimeoutMs,
    });
  } catch (error) {
    if (!isRejection(error)) throw error;
    throw new DrillIncomplete(
      cleanText(
        `every object and ref is there, but git cannot check out the files here: ${error.message}`,
      ),
    );
  }
  // An index that knows nothing about the files makes git read each of them.
  await git.read([...options, 'read-tree', head]);
  await compareFiles(git, options);
  return { head, tree_sha, tree_files: listed.files, tree_bytes: listed.bytes };
}

async function compareFiles(git: Git, options: readonly string[]): Promise<void> {
  let first: string | null = null;
  try {
    const refresh = [...options, 'update-index', '--really-refresh'];
    for await (const line of git.stream(refresh, '\n', { timeoutMs: limits.gitTimeoutMs })) {
      first ??= line;
    }
  } catch (error) {
    if (first === null || !isRejection(error)) throw error;
  }
  if (first === null) return;
  throw corrupt(
    cleanText(`a file of the default branch is not what its tree names: ${first}`, 400),
  );
}

/** What a checkout writes. Throws DrillIncomplete if that is too much, or cannot be found out. */
async function measure(git: Git, gitDir: string, head: string): Promise<WorkTreeSize> {
  try {
    return await measureWorkTree(git, gitDir, head);
  } catch (error) {
    if (error instanceof WorkTreeTooLarge) {
      throw new DrillIncomplete(
        `its default branch has more than ${MAX_ENTRIES} files and folders`,
      );
    }
    if (!(error instanceof GitError) || error.fault === 'failed') throw error;
    throw new DrillIncomplete(
      cleanText(`the files of its default branch could not be listed: ${error.message}`),
    );
  }
}
