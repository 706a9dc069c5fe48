import { randomUUID } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { linkSignal } from '../../async.ts';
import type { StoreAddress } from '../../config/stores/store-address.ts';
import { isDatabaseUnavailable } from '../../database/database.ts';
import { signInBackground } from '../../drills/sign-drills.ts';
import type { SealingKeys } from '../../drills/signing-key.ts';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import { checkGit } from '../../git/git-version.ts';
import {
  describeStuck,
  makeScratch,
  removeScratch,
  sweepScratch,
} from '../../processes/scratch.ts';
import type { DueDrill } from '../../records/drills/due.ts';
import { FOLDER_STORAGE, type NewDrill } from '../../records/drills/new-drill.ts';
import { readRecordedVersion, recordDrill } from '../../records/drills/record.ts';
import { countRecordedArchives, findRecordedArchive } from '../../records/recorded-archive.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted } from '../../text/units.ts';
import type { CommandContext } from '../base/command-context.ts';
import { retryWhileUnavailable, unlessAway } from '../base/retry-database.ts';
import type { PushTarget } from '../offsite/destination/target.ts';
import { deliverDrills, spoolDrill } from '../record/drill-spool.ts';
import { claimNext, holdClaim, isLocked } from './drill-claim.ts';
import { BudgetUsed } from './drill-fault.ts';
import { type DrillContext, performDrill, proveEmpty } from './drill-one.ts';
import { choosePlace, type DrillPlace, openDrillPlaces, storagesOf } from './drill-place.ts';

/** After this many failures of a whole store in a row, the remaining repositories are skipped. */
const MAX_STORE_FAILURES = 3;
/** How long recording a drill waits for the database. */
const PATIENCE_MS = 5_000;

/** What a session of drills needs. */
export interface DrillDeps extends CommandContext {
  dataFolder: string;
  archiveFolder: string;
  /** If there are `recipients`, what is stored is encrypted for them. */
  stores: { addresses: readonly StoreAddress[]; recipients: readonly string[] };
  target: PushTarget | null;
  layout: 'parts' | 'files' | null;
  /** CREDENTIALS_ENCRYPTION_KEY, which opens the key that signs the results. Without it, the server signs them. */
  signingSecret: SealingKeys;
}

/** Which drills to perform. */
export interface DrillSelection {
  /** Only this repository; null for all. */
  only: string | null;
  /** Also drill repositories that are not due yet. */
  isForced: boolean;
  /** Null for no limit. */
  budgetMs: number | null;
  /** The file of the age identity that decrypts the stores; null for none. */
  identityFile: string | null;
  /** The run after which they are performed; null if there is none. */
  runId: number | null;
  /** Called after each drill. */
  onDrill(drill: NewDrill): void;
}

/** The result of a session of drills. */
export interface DrillReport {
  proven: number;
  failed: number;
  incomplete: number;
  /** Whether it ended because the budget was used up. */
  isBudgetUsed: boolean;
  /** Why it ended early; null if it did not. */
  stopped: string | null;
}

/**
 * Drills one repository after another until none is due, the budget is used up, or the signal aborts, which is not an
 * error. Each drill is recorded when it ends, or spooled while the database is unreachable.
 */
export async function performDrills(
  deps: DrillDeps,
  selection: DrillSelection,
): Promise<DrillReport> {
  const { clock, signal, dataFolder, db, display } = deps;
  const gitVersion = await checkGit(deps.environment, signal);
  const folder = join(dataFolder, 'drills');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stuck = await sweepScratch(folder, clock.now());
  if (stuck !== null) deps.log.warn(describeStuck(stuck));
  await deliver(deps);
  const report = { proven: 0, failed: 0, incomplete: 0, isBudgetUsed: false, stopped: null };
  const scratch = await makeScratch(folder);
  const context: DrillContext = {
    ...{ options: deps, log: deps.log, display, gitVersion, folder },
    findRecorded: (repository, number) =>
      unlessAway(() => readRecordedVersion(db, repository, number), null),
  };
  const budget = linkSignal(signal);
  const timing = new AbortController();
  if (selection.budgetMs !== null) {
    const minutes = Math.round(selection.budgetMs / 60_000);
    clock.sleep(selection.budgetMs, timing.signal).then(
      () => budget.abort(new BudgetUsed(describeBudget(minutes))),
      () => undefined,
    );
  }
  let places: DrillPlace[] = [];
  try {
    const { layout, archiveFolder, stores } = deps;
    const { identityFile } = selection;
    places = await openDrillPlaces({
      ...{ options: { ...deps, signal: budget.signal }, archiveFolder, layout, display },
      ...{ identityFile, folder: scratch },
      findRecord: (repository) => unlessAway(() => findRecordedArchive(db, repository), null),
      // Drills from stores that cannot be decrypted would always be incomplete, and the archive folder never proven.
      ...(isLocked(deps, identityFile)
        ? { stores: [], target: null }
        : { stores: stores.addresses, target: deps.target }),
    });
    if (await isUnmounted(deps, places)) {
      const stopped = `the archive folder ${archiveFolder} has none of its archives: is its disk mounted?`;
      return { ...report, stopped };
    }
    return await drillAll(deps, selection, { context, places, report, signal: budget.signal });
  } catch (error) {
    if (signal.aborted) return report;
    if (budget.signal.aborted) return { ...report, isBudgetUsed: true };
    throw error;
  } finally {
    timing.abort();
    budget.release();
    for (const { source } of places) await source.close();
    await removeScratch(scratch);
  }
}

/**
 * Whether drills would find no archive folder, or an empty one although several archives are recorded: a disk that is not
 * mounted says nothing about each of them.
 */
async function isUnmounted(
  { db, archiveFolder }: DrillDeps,
  places: readonly DrillPlace[],
): Promise<boolean> {
  if (places.some(({ storage }) => storage !== FOLDER_STORAGE)) return false;
  const names = await nullIfMissing(readdir(archiveFolder));
  if (names?.some((name) => /\.bundle(?:\.json|\.damaged-\w+)?$/.test(name))) return false;
  const recorded = await unlessAway(() => countRecordedArchives(db), 0);
  return names === null ? recorded > 0 : recorded > 1;
}

function describeBudget(minutes: number): string {
  return `it did not fit into ${counted(minutes, 'minute')}: \`npm run worker -- drill --repo\` has no limit`;
}

interface Session {
  context: DrillContext;
  places: readonly DrillPlace[];
  report: { -readonly [Name in keyof DrillReport]: DrillReport[Name] };
  /** Also aborts when the budget is used up. */
  signal: AbortSignal;
}

async function drillAll(
  deps: DrillDeps,
  selection: DrillSelection,
  { context, places, report, signal }: Session,
): Promise<DrillReport> {
  const holder = randomUUID();
  const tried: string[] = [];
  const left = new Set(places);
  const gone: string[] = [];
  const configured = new Set(storagesOf({ ...deps, stores: deps.stores.addresses }));
  let storeFailures = 0;
  for (;;) {
    signal.throwIfAborted();
    const next = await claimNext(deps, selection, holder, tried);
    if (next === null) return report;
    const { due, isKnown } = next;
    const { repository, failedIn } = due;
    const place = choosePlace([...left], due);
    const stored = due.storedIn.find(({ store }) => store === place.storage);
    const isStored = place.storage === FOLDER_STORAGE ? isKnown : stored !== undefined;
    const claim = holdClaim(deps, holder, repository);
    try {
      const nothing = await proveNothing(context, deps, due);
      if (nothing !== null) {
        await record(deps, nothing, selection.runId);
        report[nothing.outcome]++;
        selection.onDrill(nothing);
        tried.push(repository.toLowerCase());
        if (selection.only !== null) return report;
        continue;
      }
      // A proof from another place would clear the failure although the damage is still there.
      if (failedIn !== null && failedIn !== place.storage && configured.has(failedIn)) {
        const reason = `${cleanText(repository)} failed its drill from ${failedIn}, which cannot be drilled here`;
        if (selection.only !== null) return { ...report, stopped: reason };
        deps.display.line(`${reason}: not drilled`);
        tried.push(repository.toLowerCase());
        continue;
      }
      const request = { repository, place, isStored, storedVersion: stored?.version ?? null };
      const ended = await performDrill(context, { ...request, signal });
      if (ended.fault?.isMissing && !isKnown) throw new AppError('NOT_FOUND', ended.fault.reason);
      // A drill that began late may fit next time, when it goes first.
      const isCut = signal.reason instanceof BudgetUsed && ended.fault?.outcome === 'incomplete';
      if (isCut && tried.length > 0) return { ...report, isBudgetUsed: true };
      await record(deps, ended.drill, selection.runId);
      report[ended.drill.outcome]++;
      selection.onDrill(ended.drill);
      storeFailures = ended.fault?.isOfStore ? storeFailures + 1 : 0;
      if (ended.fault?.isStoreGone && left.delete(place)) gone.push(place.storage);
      if (left.size === 0) return { ...report, stopped: `${gone.join(' and ')} cannot be used` };
      if (storeFailures >= MAX_STORE_FAILURES)
        return { ...report, stopped: `${place.storage} cannot be used` };
    } finally {
      await claim.release();
    }
    tried.push(repository.toLowerCase());
    if (selection.only !== null) return report;
  }
}

/** The drill of a repository that is empty; null if it has to be restored. */
async function proveNothing(
  context: DrillContext,
  { archiveFolder }: DrillDeps,
  { repository, foundEmptyAt }: DueDrill,
): Promise<NewDrill | null> {
  if (foundEmptyAt === null) return null;
  return proveEmpty(context, { repository, foundEmptyAt, archiveFolder });
}

async function record(deps: DrillDeps, drill: NewDrill, runId: number | null): Promise<void> {
  const { db, clock, dataFolder, display } = deps;
  try {
    const forMs = PATIENCE_MS;
    await retryWhileUnavailable(() => recordDrill(db, drill, runId), { clock, forMs });
    await signInBackground({ ...deps, keys: deps.signingSecret });
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    if (await spoolDrill(dataFolder, drill, runId)) return;
    display.line(
      `the drill of ${drill.repository} is not recorded: too many drills wait in DATA_DIR/spool`,
    );
  }
}

/** Delivers the drills that were spooled earlier, and signs them. */
async function deliver(deps: DrillDeps): Promise<void> {
  const { db, dataFolder, display } = deps;
  const delivered = await unlessAway(() => deliverDrills(db, dataFolder), null);
  if (delivered !== null) await signInBackground({ ...deps, keys: deps.signingSecret });
  for (const name of delivered?.damaged ?? []) {
    display.line(cleanText(`DATA_DIR/spool: ${name} cannot be delivered and is kept`));
  }
}
