import {
  claimDrill,
  type DueDrill,
  releaseDrillClaim,
  renewDrillClaim,
} from '../../records/drills/due.ts';
import { listRestorableRepositories } from '../../restore/list-archives.ts';
import { startHeartbeat } from '../archive/lease/heartbeat.ts';
import type { CommandContext } from '../base/command-context.ts';
import { unlessAway } from '../base/retry-database.ts';
import { listSpooledDrills } from '../record/drill-spool.ts';

/** What a claim needs. */
interface ClaimDeps extends Pick<CommandContext, 'db' | 'clock'> {
  dataFolder: string;
  archiveFolder: string;
  stores: { recipients: readonly string[] };
}

/** Which repositories may be chosen, as in a DrillSelection. */
interface ClaimSelection {
  only: string | null;
  isForced: boolean;
  identityFile: string | null;
}

/** Claims the next repository that is due, and says whether its archive was recorded. Null if none is due. */
export async function claimNext(
  deps: ClaimDeps,
  { only, isForced, identityFile }: ClaimSelection,
  holder: string,
  without: readonly string[],
): Promise<{ due: DueDrill; isKnown: boolean } | null> {
  const now = new Date(deps.clock.now()).toISOString();
  const selection = { now, isForced, only, without };
  const due = await unlessAway(() => claimDrill(deps.db, holder, selection), undefined);
  if (due) return { due, isKnown: true };
  const isUnknown = (repository: string) => ({
    due: { repository, recentStorages: [], failedIn: null, foundEmptyAt: null, storedIn: [] },
    isKnown: false,
  });
  if (only !== null) return isUnknown(only);
  // Without the database, failed drills of the stores are unknown, and a proof of the folder would end them.
  if (due === null || isLocked(deps, identityFile)) return null;
  // Without the database, earlier proofs are unknown except those in the spool, whose repositories are left out.
  const { repositories } = await listRestorableRepositories(deps.archiveFolder);
  const left = new Set([...without, ...(await listSpooledDrills(deps.dataFolder))]);
  const first = repositories.find((one) => one.includes('/') && !left.has(one.toLowerCase()));
  return first === undefined ? null : { ...isUnknown(first), isKnown: true };
}

/** Keeps other workers away from a repository while it is drilled. */
export function holdClaim(
  { db, clock }: ClaimDeps,
  holder: string,
  repository: string,
): { release(): Promise<void> } {
  const heartbeat = startHeartbeat({
    clock,
    // Losing a claim does no harm: the repository is then drilled twice.
    beat: () => unlessAway(() => renewDrillClaim(db, holder, repository), true),
    onTaken: () => undefined,
    onUnreachable: () => undefined,
  });
  return {
    async release() {
      await heartbeat.stop();
      await unlessAway(() => releaseDrillClaim(db, holder, repository), undefined);
    },
  };
}

/** Whether what is stored is encrypted and cannot be decrypted here. */
export function isLocked({ stores }: ClaimDeps, identityFile: string | null): boolean {
  return stores.recipients.length > 0 && identityFile === null;
}
