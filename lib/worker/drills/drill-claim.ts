import {
  claimDrill,
  type DueDrill,
  releaseDrillClaim,
  renewDrillClaim,
} from '../../records/drills/due.ts';
import { listRepositories } from '../../restore/list-archives.ts';
import type { CommandContext } from '../command-context.ts';
import { startHeartbeat } from '../lease/heartbeat.ts';
import { unlessAway } from '../retry.ts';
import { listSpooledDrills } from './drill-spool.ts';

/** What claims are made with. */
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

/** Claims the repository whose turn it is, and says whether its archive is one that was recorded. Null if none is due. */
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
    due: { repository, recentStorages: [], failedIn: null, storedIn: [] },
    isKnown: false,
  });
  if (only !== null) return isUnknown(only);
  // Without the database, failures of the stores are unknown, and a proof of the folder would end them.
  if (due === null || isLocked(deps, identityFile)) return null;
  // Without the database nobody knows the proofs: those that wait in the spool are left out.
  const listed = await listRepositories(deps.archiveFolder);
  const left = new Set([...without, ...(await listSpooledDrills(deps.dataFolder))]);
  const first = listed.find((one) => one.includes('/') && !left.has(one.toLowerCase()));
  return first === undefined ? null : { ...isUnknown(first), isKnown: true };
}

/** Keeps other workers from a repository for as long as its drill takes. */
export function holdClaim(
  { db, clock }: ClaimDeps,
  holder: string,
  repository: string,
): { release(): Promise<void> } {
  const heartbeat = startHeartbeat({
    clock,
    // A claim that is lost does no harm: the repository is drilled twice then.
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

/** Whether nobody can decrypt here what is stored. */
export function isLocked({ stores }: ClaimDeps, identityFile: string | null): boolean {
  return stores.recipients.length > 0 && identityFile === null;
}
