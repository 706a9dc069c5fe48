import { readStates, type StoredVersion, versionsOf } from '../../stores/reading/find-version.ts';
import { filesOf, type ReadState } from '../../stores/reading/read-state.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatBytes } from '../../text/units.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import { createDisplay } from '../base/display.ts';
import type { ListStoreCommand } from './restore-commands.ts';
import { formatTable } from './restore-text.ts';
import { openStoreSource, type StoreSource } from './store-source.ts';

/**
 * Prints the contents of a store and returns the exit code: 1 if something could not be read or there is nothing.
 * Throws AppError.
 */
export async function runListStore(
  options: WorkerOptions,
  { store, repository }: ListStoreCommand,
): Promise<number> {
  const { io } = options;
  const display = createDisplay(io.stderr, io.isTerminal);
  const source = await openStoreSource(options, store, display);
  let faults = 0;
  const report = (fault: string) => {
    faults++;
    display.line(`left out: ${cleanText(fault)}`);
  };
  try {
    const rows =
      repository === null
        ? await listRepositories(source, report)
        : await listVersions(source, repository, report);
    const [, ...entries] = rows;
    if (entries.length > 0) io.stdout.write(formatTable(rows));
    else if (faults > 0) display.line(`nothing in ${store.address.text} could be read`);
    else {
      io.stdout.write(
        `There is nothing to restore in ${store.address.text}: nothing was stored there yet, it is the wrong store, or it was emptied.\n`,
      );
    }
    return faults === 0 && entries.length > 0 ? 0 : 1;
  } finally {
    await source.close();
  }
}

async function listRepositories(
  source: StoreSource,
  report: (fault: string) => void,
): Promise<string[][]> {
  const rows: string[][] = [];
  const faults = await source.eachNewest((name, state, fault) => {
    if (fault !== null) report(`${fault.message}: an older state is listed instead`);
    const versions = versionsOf(state);
    rows.push([
      name,
      `${versions.length}`,
      timeOf(versions.at(-1)),
      formatBytes(sizeOf(state.files)),
      state.ref.isEncrypted ? 'yes' : 'no',
    ]);
  });
  for (const fault of faults) report(fault);
  rows.sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
  return [['Repository', 'Versions', 'Newest', 'Stored', 'Encrypted'], ...rows];
}

async function listVersions(
  source: StoreSource,
  repository: string,
  report: (fault: string) => void,
): Promise<string[][]> {
  const versions = new Map<string, { madeAt: number; number: number; row: string[] }>();
  const found = (state: ReadState) => {
    const { number } = state.ref;
    for (const version of versionsOf(state)) {
      const id = version.entry?.manifest_sha256 ?? `${version.madeAt}`;
      // The newest state counts: the version may need other files by now.
      if ((versions.get(id)?.number ?? 0) > number) continue;
      versions.set(id, { madeAt: version.madeAt, number, row: describeVersion(version) });
    }
  };
  for (const refs of await source.find(repository)) {
    await readStates(source.reading, refs, { found, onFault: ({ message }) => report(message) });
  }
  const sorted = [...versions.values()].sort((one, other) => one.madeAt - other.madeAt);
  const rows = sorted.map(({ row }) => row);
  return [['Version', 'Time', 'Refs', 'Download', 'Warning'], ...rows];
}

function describeVersion({ state, entry, madeAt }: StoredVersion): string[] {
  return [
    `${entry?.version ?? '-'}`,
    new Date(madeAt).toISOString(),
    `${entry?.ref_count ?? '-'}`,
    formatBytes(sizeOf(filesOf(state, entry))),
    entry?.warning ?? '',
  ];
}

function timeOf(version: StoredVersion | undefined): string {
  return version === undefined ? '-' : new Date(version.madeAt).toISOString();
}

function sizeOf(files: readonly { stored_bytes: number }[]): number {
  return files.reduce((sum, { stored_bytes }) => sum + stored_bytes, 0);
}
