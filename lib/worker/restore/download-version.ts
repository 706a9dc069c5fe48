import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../../errors.ts';
import {
  fetchArchive,
  sizeToFetch,
  type UnfetchedFile,
} from '../../stores/reading/fetch-archive.ts';
import type { StoredVersion } from '../../stores/reading/find-version.ts';
import type { ObjectFaultKind } from '../../stores/reading/object-fault.ts';
import type { StateReading } from '../../stores/reading/read-state.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted } from '../../text/units.ts';
import type { Display } from '../base/display.ts';
import { showDownload } from './show-download.ts';
import { UnfitObject } from './store-faults.ts';

/** How many damaged files an error names. */
const MAX_NAMED = 3;

/**
 * Downloads the files of a version from the store at `address` into a folder, and resumes what an earlier attempt left
 * there. If some are missing or damaged, prints each and throws UnfitObject; also throws AppError or StoreFault.
 */
export async function downloadVersion(
  { reading, address, display }: { reading: StateReading; address: string; display: Display },
  version: StoredVersion,
  folder: string,
): Promise<void> {
  const name = cleanText(version.state.repository, 300);
  const missing = await sizeToFetch(version, folder);
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < missing) {
    throw new AppError(
      'SERVICE_UNAVAILABLE',
      `${dirname(folder)} has too little space for ${name}`,
    );
  }
  const progress = showDownload(display, name);
  const unfetched = await fetchArchive(reading, version, folder, progress.show);
  progress.end();
  if (unfetched.length === 0) return;
  for (const { name: file, fault } of unfetched) {
    display.line(cleanText(`${name}: ${file}: ${fault.message}`));
  }
  const count = counted(unfetched.length, 'file is', 'files are');
  throw new UnfitObject(
    worstOf(unfetched.map(({ fault }) => fault.kind)),
    cleanText(
      `${count} missing or damaged in ${address}: ${nameSome(unfetched)}; another version may be intact (restore --at)`,
    ),
    { version: version.entry?.version ?? null },
  );
}

/** The most informative kind: proven damage comes before what could not be read. */
function worstOf(kinds: readonly ObjectFaultKind[]): ObjectFaultKind {
  return kinds.find((kind) => kind === 'damaged' || kind === 'missing') ?? kinds[0] ?? 'damaged';
}

/** Readers of the alert or the ledger have not seen the output, and need to find the objects in the store. */
function nameSome(files: readonly UnfetchedFile[]): string {
  const named = files.slice(0, MAX_NAMED).map(({ name, fault }) => `${name} (${fault.key})`);
  const more = files.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
