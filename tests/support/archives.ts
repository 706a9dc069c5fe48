import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { ArchiveCall } from '../../lib/archives/archive-access.ts';
import { type ArchiveReaderOptions, createArchiveReader } from '../../lib/archives/archives.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { createTestClock } from './clock.ts';
import { temporaryFolder } from './folders.ts';
import { createRepository, type TestRepository } from './git.ts';

type EntryHeader = Parameters<ReturnType<typeof pack>['entry']>[0];

/** An archive folder, a scratch folder next to it, and functions to fill them. */
export interface ArchiveFolder {
  root: string;
  scratch: string;
  /** A folder for repositories and other files of a test. */
  outside: string;
  /** The database records by repository. */
  records: Map<string, { archive_key: string; archive_sha256: string }>;
  reader(options?: Partial<ArchiveReaderOptions>): ReturnType<typeof createArchiveReader>;
  repository(name: string): Promise<TestRepository>;
  /** Creates the bundle `name` of all refs, or of the given revisions, and returns its bytes. */
  bundle(name: string, from: TestRepository, ...revisions: string[]): Promise<Buffer>;
  write(name: string, bytes: Uint8Array | string): Promise<void>;
  /** What is left in the scratch folder, except archives that are kept unpacked. */
  leftovers(): Promise<string[]>;
  /** The folders with archives that are kept unpacked. */
  unpacked(): Promise<string[]>;
  remove(): Promise<void>;
}

export async function createArchiveFolder(): Promise<ArchiveFolder> {
  const { path, remove } = await temporaryFolder();
  const [root, scratch, outside] = ['archives', 'scratch', 'outside'].map((name) =>
    join(path, name),
  ) as [string, string, string];
  for (const folder of [root, scratch, outside]) await mkdir(folder);
  const records: ArchiveFolder['records'] = new Map();
  const clock = createTestClock();
  const listScratch = async (isKept: boolean) => {
    const found: string[] = [];
    for (const name of await readdir(scratch)) {
      const inside = await readdir(join(scratch, name));
      if (inside.includes('kept.git') === isKept) found.push(name);
    }
    return found;
  };
  return {
    root,
    scratch,
    outside,
    records,
    reader: (options = {}) =>
      createArchiveReader({
        root,
        scratchFolder: scratch,
        environment: { PATH: process.env.PATH },
        clock,
        findRecord: async (name) => records.get(name) ?? null,
        redactor: createRedactor([]),
        ...options,
      }),
    repository: (name) => createRepository(join(outside, name)),
    async bundle(name, from, ...revisions) {
      const what = revisions.length > 0 ? revisions : ['--all'];
      await from.git('bundle', 'create', '--quiet', join(root, name), ...what);
      return readFile(join(root, name));
    },
    write: (name, bytes) => writeFile(join(root, name), bytes),
    leftovers: () => listScratch(false),
    unpacked: () => listScratch(true),
    remove,
  };
}

/** A call that is never canceled. */
export const anyCall: ArchiveCall = { signal: new AbortController().signal };

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A tar of entries; those with text or bytes have it as content. */
export async function makeTar(
  ...entries: [EntryHeader, (string | Uint8Array)?][]
): Promise<Buffer> {
  const tar = pack();
  for (const [header, content = ''] of entries) tar.entry(header, content);
  tar.finalize();
  return buffer(tar);
}

/** `makeTar`, compressed. */
export async function makeTarball(...entries: Parameters<typeof makeTar>): Promise<Buffer> {
  return gzipSync(await makeTar(...entries));
}
