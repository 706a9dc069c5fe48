import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../../../clock.ts';
import type { Environment } from '../../../config/read.ts';
import { createGit, GitError } from '../../../git/git.ts';
import { makeScratch, removeScratch } from '../../../processes/scratch.ts';
import { parsePart } from '../../../stores/git/parts.ts';
import { committer } from '../../../stores/git/repository-clone.ts';
import { formatBytes } from '../../../text/units.ts';
import type { ArchiveRecord, KeptArchive } from '../../archive/archive.ts';
import type { Source } from '../../base/source.ts';
import type { HostAccess } from '../../logins/host-access.ts';
import { destinationCredential, explainRefusal } from './destination-login.ts';
import { type DestinationFigures, measureDestination } from './measure.ts';
import { createPrivacyCheck, findPrivateProblem } from './privacy.ts';
import { openPushClone, type PushClone } from './push-clone.ts';
import { addressOf, type PushTarget } from './target.ts';

/** The outcome of delivering an archive. */
export type PushOutcome =
  | { status: 'pushed' }
  /** The destination already had it. */
  | { status: 'there' }
  | { status: 'failed' | 'too_large'; reason: string };

/** Where a run's archives are pushed. */
export interface Destination {
  /** Throws file system errors, or the signal's reason. */
  deliver(source: Source, archive: KeptArchive): Promise<PushOutcome>;
  /** The current figures of the destination. Throws like `deliver`, and GitError. */
  measure(): Promise<DestinationFigures>;
  /** Removes temporary files. */
  close(): Promise<void>;
}

interface DestinationOptions {
  target: PushTarget;
  access: HostAccess;
  environment: Environment;
  clock: Clock;
  signal: AbortSignal;
  archiveFolder: string;
}

/** The largest file that git hosts accept. */
const MAX_FILE_BYTES = 100 * 2 ** 20;
const LAYOUT_MISMATCH =
  'BACKUP_REPO_LAYOUT is files, but the destination has the layout `parts`: remove the variable';
/** After this many failures to open the destination, later repositories no longer wait for it. */
const MAX_OPENINGS = 3;

/** The files of an archive in the order of delivery: each after the one that it continues. */
function listFiles(key: string, { archive_size_bytes, archive_blob, increments }: ArchiveRecord) {
  return [
    { name: key, sizeBytes: archive_size_bytes, blob: archive_blob },
    ...increments.map(({ name, size_bytes, blob = null }) => ({
      name,
      sizeBytes: size_bytes,
      blob,
    })),
  ];
}

/** Opens the destination of a run. It is not contacted before the first delivery. */
export function openDestination(options: DestinationOptions): Destination {
  const { target, access, clock, signal, archiveFolder } = options;
  const git = createGit({ ...options.environment, ...committer }, signal);
  // One at a time: all archives go through one clone.
  const inTurn = pLimit(1);
  let scratch: string | null = null;
  let opened: PushClone | null = null;
  let failure: { error: GitError; count: number } | null = null;
  const checkPrivacy = createPrivacyCheck(target, access);

  async function open(): Promise<PushClone> {
    if (opened !== null) return opened;
    if (failure !== null && failure.count >= MAX_OPENINGS) throw failure.error;
    try {
      scratch ??= await makeScratch(archiveFolder);
      const gitDir = join(scratch, `destination-${failure?.count ?? 0}.git`);
      const credential = () => destinationCredential(target, access);
      const from = addressOf(target);
      const clone = await openPushClone({ git, clock, signal, from, gitDir, credential });
      if ([...clone.files().keys()].some((path) => parsePart(path) !== null)) {
        throw new GitError(LAYOUT_MISMATCH);
      }
      opened = clone;
      return clone;
    } catch (error) {
      if (error instanceof GitError) failure = { error, count: (failure?.count ?? 0) + 1 };
      throw error;
    }
  }

  async function deliver(source: Source, { key, record }: KeptArchive): Promise<PushOutcome> {
    const largest = Math.max(...listFiles(key, record).map(({ sizeBytes }) => sizeBytes));
    if (largest > MAX_FILE_BYTES) {
      const limit = `the limit of ${formatBytes(MAX_FILE_BYTES)} for a file`;
      const reason = `the archive of ${formatBytes(largest)} exceeds ${limit}: kept here, not pushed`;
      return { status: 'too_large', reason };
    }
    const problem = await findPrivateProblem(source, checkPrivacy);
    if (problem !== null) return { status: 'failed', reason: `not pushed: ${problem}` };
    try {
      const clone = await open();
      let isNew = false;
      for (const { name, blob } of listFiles(key, record)) {
        if (blob !== null && clone.files().get(name) === blob) continue;
        const file = join(archiveFolder, name);
        isNew = (await clone.put(name, file, `Back up ${source.name}`)) || isNew;
      }
      return { status: isNew ? 'pushed' : 'there' };
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      const reason = `not pushed: ${await explainRefusal(error, target, access)}`;
      return { status: 'failed', reason };
    }
  }

  return {
    deliver: (source, archive) => inTurn(() => deliver(source, archive)),
    measure: async () => measureDestination({ git, clone: await open(), archiveFolder }),
    async close() {
      if (scratch !== null) await removeScratch(scratch);
    },
  };
}
