import { stallMsOf } from '../../git/git.ts';
import type { SeenRepository } from '../../records/recording/plans.ts';
import { listTracked } from '../../records/recording/repo-state.ts';
import type { NewSource } from '../../records/recording/sources.ts';
import { redact } from '../../security/redaction/redactor.ts';
import { countRepositories } from '../../text/units.ts';
import { assignArchives } from '../archive/assign-archives.ts';
import type { Source } from '../base/source.ts';
import { RunStopped } from '../base/stop.ts';
import type { HostAccess } from '../logins/host-access.ts';
import { repositoriesOn } from '../offsite/destination/target.ts';
import { discoverSources } from './discovery/discover.ts';
import type { RunContext } from './run-deps.ts';
import { expandFolders } from './selection/expand-folders.ts';
import { type Selected, selectSources } from './selection/select.ts';

/** The sources given on the command line, with the repositories of each folder that holds some. */
export function expandGiven(
  { journal, archiveFolder, environment }: RunContext,
  given: readonly Source[],
): Promise<Source[]> {
  const { note, store } = journal;
  const tracked = () => store.read(listTracked, () => []);
  const maxWaitMs = stallMsOf(environment);
  const options = { archiveFolder, maxWaitMs, tracked, note };
  return expandFolders(given, options);
}

/** Archives belong to addresses: notes which sources are backed up under another name. */
export async function assignNames(
  { journal, archiveFolder }: RunContext,
  sources: readonly Source[],
): Promise<Source[]> {
  const assigned = await assignArchives(archiveFolder, sources);
  for (const { from, to, owner } of assigned.renamed) {
    const why =
      owner === null ? 'its archive has that name' : `the archive of ${from} belongs to ${owner}`;
    const text = `backed up as ${to}: ${why}`;
    await journal.note('info', text, to);
  }
  await journal.tell({ type: 'sources', sources: addressesOf(assigned.sources) });
  return assigned.sources;
}

/** Where the sources are read. One that discovery no longer finds is read nowhere. */
function addressesOf(sources: readonly Source[]): NewSource[] {
  return sources
    .filter(({ host }) => host?.plan !== 'lost')
    .map(({ name, location }) => ({ repository: name, address: redact(location) }));
}

/** The repositories that discovery finds, and those that it may not read. */
export async function discoverAll(
  { journal, archiveFolder, target, stores }: RunContext,
  access: HostAccess,
): Promise<{ sources: Source[]; unread: SeenRepository[] }> {
  const { note, store, tell } = journal;
  const tracked = () => store.read(listTracked, () => []);
  const unread: SeenRepository[] = [];
  const { hostUrl } = access.connection;
  const destinations = repositoriesOn(hostUrl, target, stores.addresses);
  const missed = (names: readonly string[], listed: number) =>
    tell({ type: 'missing', names, listed });
  const sources = await discoverSources({
    ...{ tracked, access, archiveFolder, destinations, note, missed },
    unread: (seen) => void unread.push({ ...seen, facts: {} }),
  });
  await note('info', `discovery found ${countRepositories(sources.length)}`);
  return { sources, unread };
}

/** What --only and --exclude leave. Throws RunStopped if that is nothing, which is hardly intended. */
export async function selectWanted(
  { journal, selection }: RunContext,
  found: readonly Source[],
): Promise<Selected> {
  const result = selectSources(found, selection);
  const { selected, leftOut, unmatched } = result;
  for (const { from, text } of unmatched) {
    await journal.note('warn', `${from} ${text} matches no repository`);
  }
  if (selected.length === 0 && leftOut.length > 0) {
    throw new RunStopped('nothing to back up: --only and --exclude leave every repository out');
  }
  if (leftOut.length > 0) {
    await journal.note(
      'info',
      `${countRepositories(leftOut.length)} left out by --only or --exclude`,
    );
  }
  return result;
}
