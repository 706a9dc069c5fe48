import { storeId } from '../../config/stores/store-address.ts';
import type { GitStoreAccess } from '../../stores/git/git-store-options.ts';
import { isInFilesLayout } from '../../stores/git/session.ts';
import type { HostAccess } from '../logins/host-access.ts';
import { createGitStoreAccess } from '../offsite/destination/git-store-access.ts';
import { measureStore } from '../offsite/destination/measure.ts';
import { type Destination, openDestination } from '../offsite/destination/open-destination.ts';
import { addressOf } from '../offsite/destination/target.ts';
import { type Offsite, openOffsite } from '../offsite/offsite.ts';
import type { Note } from '../offsite/sender.ts';
import { shrink } from '../offsite/shrink.ts';
import type { RunDeps } from './run-deps.ts';

/** Archives of at least this size get increments. The threshold is lower in git, which keeps every change for good. */
const INCREMENTS_FROM_BYTES = 64 * 2 ** 20;
const INCREMENTS_FROM_BYTES_IN_GIT = 2 ** 20;

/** Where the archives of a run go, besides this machine. */
export interface RunTargets {
  /** The destination, if its layout is `files`. */
  destination: Destination | null;
  /** The stores, including a destination in the layout `parts`. */
  offsite: Offsite | null;
  /** Full bundles of at least this size get increments. */
  incrementsFromBytes: number;
  /** What the run's figures describe; null for the sources. */
  measured: Pick<Destination, 'measure'> | null;
  /** Replaces a destination that exceeds its size limit with a fresh one. Called when all work of a run is done. */
  tidy(note: Note): Promise<void>;
}

/** Opens where the archives of a run go, does the work, and closes it. */
export async function withTargets(
  deps: RunDeps,
  access: HostAccess,
  work: (targets: RunTargets) => Promise<void>,
): Promise<void> {
  const targets = await openTargets(deps, access);
  try {
    await work(targets);
  } finally {
    await targets.destination?.close();
    await targets.offsite?.close();
  }
}

async function openTargets(deps: RunDeps, access: HostAccess): Promise<RunTargets> {
  const { target, stores, layout } = deps;
  const git = createGitStoreAccess(access, deps.environment);
  const open = (addresses: typeof stores.addresses) =>
    openOffsite({ ...deps, ...stores, addresses, git });
  if (target === null) return describe(deps, await open(stores.addresses));
  const address = addressOf(target);
  const others = stores.addresses.filter((one) => storeId(one) !== storeId(address));
  if (layout !== 'files') {
    const offsite = await open([...others, address]);
    if (offsite === null) throw new Error('no store was opened');
    const repository = offsite.stores.at(-1)?.repository ?? null;
    if (layout === 'parts' || !(await isInFilesLayout(repository))) {
      return { ...describe(deps, offsite), ...describeTarget(deps, offsite, git) };
    }
    await offsite.close();
  }
  const destination = openDestination({ ...deps, access, target });
  return { ...describe(deps, await open(others)), destination, measured: destination };
}

function describe({ incrementsFromBytes }: RunDeps, offsite: Offsite | null): RunTargets {
  const isInGit = (offsite?.stores ?? []).some(({ repository }) => repository !== null);
  const fallback = isInGit ? INCREMENTS_FROM_BYTES_IN_GIT : INCREMENTS_FROM_BYTES;
  return {
    ...{ destination: null, offsite, measured: null },
    incrementsFromBytes: incrementsFromBytes ?? fallback,
    tidy: async () => undefined,
  };
}

/** The destination is the last store. */
function describeTarget(
  { environment, clock, signal, maxTargetBytes: maxBytes }: RunDeps,
  offsite: Offsite,
  access: GitStoreAccess,
): Pick<RunTargets, 'measured' | 'tidy'> {
  const store = offsite.stores.at(-1);
  const repository = store?.repository ?? null;
  if (store === undefined || repository === null) throw new Error('there is no destination');
  return {
    measured: { measure: () => measureStore({ repository, environment, signal }) },
    async tidy(note) {
      if (maxBytes === null) return;
      const ledger = offsite.ledgerOf(store);
      await shrink({ store, ledger, access, maxBytes, clock, signal }, note);
    },
  };
}
