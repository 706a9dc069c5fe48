import { storeId } from '../../config/store-address.ts';
import { FilesLayout } from '../../stores/git/git-store.ts';
import { StoreFault } from '../../stores/object-store.ts';
import { createGitStoreAccess } from '../destination/git-store-access.ts';
import { measureStore } from '../destination/measure.ts';
import { type Destination, openDestination } from '../destination/open-destination.ts';
import { addressOf, type PushTarget } from '../destination/target.ts';
import type { HostAccess } from '../host-access.ts';
import { type Offsite, openOffsite } from '../offsite/offsite.ts';
import type { RunDeps } from './run-deps.ts';

/** From this size on, archives get increments: small where each change is kept for good. */
const INCREMENTS_FROM_BYTES = 64 * 2 ** 20;
const INCREMENTS_FROM_BYTES_IN_GIT = 2 ** 20;

/** Where the archives of a run go. */
export interface Places {
  /** The destination, if it is in the layout `files`. */
  destination: Destination | null;
  /** The stores, with a destination in the layout `parts`. */
  offsite: Offsite | null;
  /** From this size of its full bundle on, an archive gets increments. */
  incrementsFromBytes: number;
  /** What the figures of the run describe; null for the sources. */
  measured: Pick<Destination, 'measure'> | null;
}

/** Opens the places that archives go to, for as long as the work takes. */
export async function withPlaces(
  deps: RunDeps,
  access: HostAccess,
  work: (places: Places) => Promise<void>,
): Promise<void> {
  const { target } = deps;
  const places = await openPlaces(deps, access, target);
  try {
    await work(places);
  } finally {
    await places.destination?.close();
    await places.offsite?.close();
  }
}

async function openPlaces(
  deps: RunDeps,
  access: HostAccess,
  target: PushTarget | null,
): Promise<Places> {
  const { stores, layout } = deps;
  const git = createGitStoreAccess(access, deps.environment);
  const open = (addresses: typeof stores.addresses) =>
    openOffsite({ ...deps, ...stores, addresses, git });
  if (target === null) return describe(deps, null, await open(stores.addresses), null);
  const address = addressOf(target);
  const others = stores.addresses.filter((one) => storeId(one) !== storeId(address));
  if (layout !== 'files') {
    const offsite = await open([...others, address]);
    if (offsite === null) throw new Error('no store was opened');
    if (layout === 'parts' || !(await hasFiles(offsite))) {
      return describe(deps, null, offsite, address.text);
    }
    await offsite.close();
  }
  const destination = openDestination({ ...deps, access, target });
  return describe(deps, destination, await open(others), null);
}

/** Whether the destination has archives at its root. What else is wrong with it is for the deliveries to tell. */
async function hasFiles({ stores }: Offsite): Promise<boolean> {
  try {
    await stores.at(-1)?.repository?.inspect();
    return false;
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    return error instanceof FilesLayout;
  }
}

function describe(
  { incrementsFromBytes, environment, signal }: RunDeps,
  destination: Destination | null,
  offsite: Offsite | null,
  /** The address of a destination in the layout `parts`. */
  text: string | null,
): Places {
  const stores = offsite?.stores ?? [];
  const isInGit = stores.some(({ repository }) => repository !== null);
  const repository = stores.find(({ address }) => address.text === text)?.repository ?? null;
  const ofStore =
    repository === null
      ? null
      : { measure: () => measureStore({ repository, environment, signal }) };
  return {
    ...{ destination, offsite, measured: destination ?? ofStore },
    incrementsFromBytes:
      incrementsFromBytes ?? (isInGit ? INCREMENTS_FROM_BYTES_IN_GIT : INCREMENTS_FROM_BYTES),
  };
}
