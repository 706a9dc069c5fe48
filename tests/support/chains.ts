import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  formatManifest,
  hashText,
  incrementName,
  keptName,
  manifestFolder,
  manifestName,
  type VersionManifest,
} from '../../lib/archives/base/manifest.ts';
import type { Increment, VersionEntry } from '../../lib/archives/base/note.ts';
import { type ArchiveFolder, createArchiveFolder, sha256 } from './archives.ts';
import { copyFolder } from './folders.ts';
import type { TestRepository } from './git.ts';
import { latest } from './hooks.ts';

const execute = promisify(execFile);
const DAY_MS = 24 * 60 * 60_000;
const FIRST_DAY = Date.parse('2026-03-01T12:00:00Z');

type Refs = Record<string, string>;

/** An archive with versions, written with git's plumbing alone. */
export interface TestChain {
  /**
   * Archives what the repository has now, in an increment unless it is the first version. Returns the refs, with HEAD.
   */
  version(): Promise<Refs>;
  /** Writes a new full bundle of everything that a version needs, without touching the one in place. */
  pack(): Promise<{ bytes: Buffer; note: Note }>;
  /** Replaces the full bundle and all increments by a new full bundle. */
  compact(): Promise<void>;
  /** The current note. */
  note: Note;
  writeNote(note?: object): Promise<void>;
  /** Continues with a copy of the archive and of its repository. */
  continueIn(root: string, from: TestRepository): TestChain;
}

interface Note {
  version: 2;
  archive_sha256: string;
  archive_size_bytes?: number;
  increments: Increment[];
  versions: VersionEntry[];
}

/** What a chain knows about its archive. */
interface ChainState {
  kept: Map<string, string>;
  known: Set<string>;
  note: Note;
  before: Refs;
}

const nothingYet = (): ChainState => ({
  ...{ kept: new Map(), known: new Set(), before: {} },
  note: { version: 2, archive_sha256: '', increments: [], versions: [] },
});

/** Begins the archive `name` of a repository in the folder `root`. The first version is dated 1 March 2026, noon. */
export function createChain(
  root: string,
  name: string,
  from: TestRepository,
  state = nothingYet(),
): TestChain {
  const { kept, known } = state;
  let { note, before } = state;

  /** A bundle of these refs, with only the objects that the known ones lack. */
  async function bundle(refs: Refs, headBranch: string | null, without: ReadonlySet<string>) {
    const names = Object.keys(refs).filter((ref) => ref !== 'HEAD' && ref !== headBranch);
    const ordered = [...names.sort(), ...[headBranch ?? [], 'HEAD'].flat()];
    const listed = ordered.flatMap((ref) => (refs[ref] ? [`${refs[ref]} ${ref}`] : []));
    const excluded = [...without].map((id) => `^${id}`);
    const revisions = [...new Set(Object.values(refs)), ...excluded].join('\n');
    const boundary = (await feed(['rev-list', '--boundary', '--stdin'], revisions))
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('-'));
    const format = await from.git('rev-parse', '--show-object-format');
    const head =
      format === 'sha256' ? ['# v3 git bundle', '@object-format=sha256'] : ['# v2 git bundle'];
    const pack = await feed(['pack-objects', '--quiet', '--stdout', '--revs'], revisions);
    const header = [...head, ...boundary, ...listed].map((line) => `${line}\n`).join('');
    return Buffer.concat([Buffer.from(`${header}\n`), pack]);
  }

  async function feed(args: string[], text: string): Promise<Buffer> {
    const running = execute('git', ['-C', from.path, ...args], {
      encoding: 'buffer',
      maxBuffer: 2 ** 30,
    });
    running.child.stdin?.end(`${text}\n`);
    return (await running).stdout;
  }

  async function readRefs(): Promise<{ refs: Refs; headBranch: string | null }> {
    const show = await from.git('show-ref', '--head').catch(() => '');
    const lines = show.split('\n').filter((line) => line !== '');
    const refs = Object.fromEntries(
      lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]),
    );
    const branch = await from.git('symbolic-ref', '--quiet', 'HEAD').catch(() => null);
    return { refs, headBranch: branch !== null && branch in refs ? branch : null };
  }

  const chain: TestChain = {
    get note() {
      return note;
    },
    writeNote: (text: object = note) =>
      writeFile(join(root, `${name}.json`), JSON.stringify(text, null, 2)),
    async version() {
      const { refs, headBranch } = await readRefs();
      const version = (note.versions.at(-1)?.version ?? 0) + 1;
      for (const [ref, id] of Object.entries(before)) {
        if (ref !== 'HEAD' && refs[ref] !== id) kept.set(keptName(version - 1, ref), id);
      }
      before = refs;
      const bytes = await bundle(refs, headBranch, known);
      for (const id of Object.values(refs)) known.add(id);
      if (version === 1) {
        await writeFile(join(root, name), bytes);
        note.archive_sha256 = sha256(bytes);
        note.archive_size_bytes = bytes.length;
      } else {
        const increment = incrementName(name, version - 1);
        await writeFile(join(root, increment), bytes);
        const facts = { sha256: sha256(bytes), size_bytes: bytes.length };
        note.increments.push({ name: increment, ...facts });
      }
      const base = note.archive_size_bytes ?? 0;
      const files = [{ name, sha256: note.archive_sha256, size_bytes: base }, ...note.increments];
      const manifest: VersionManifest = {
        format: 1,
        repository: name.replace('.bundle', '').replace('__', '/'),
        address: from.path,
        version,
        at: new Date(FIRST_DAY + (version - 1) * DAY_MS).toISOString(),
        run_id: null,
        head_branch: headBranch,
        refs,
        files,
        prerequisites: [],
        previous_sha256: note.versions.at(-1)?.manifest_sha256 ?? null,
      };
      const text = formatManifest(manifest);
      const folder = join(root, manifestFolder(name));
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, manifestName(version)), text);
      const ref_count = Object.keys(refs).length;
      note.versions.push({
        version,
        at: manifest.at,
        run_id: null,
        manifest_sha256: hashText(text),
        files: files.length,
        ref_count,
        warning: null,
      });
      await chain.writeNote();
      return refs;
    },
    continueIn: (root, from) =>
      createChain(root, name, from, structuredClone({ kept, known, note, before })),
    async pack() {
      const { refs, headBranch } = await readRefs();
      const bytes = await bundle({ ...Object.fromEntries(kept), ...refs }, headBranch, new Set());
      const versions = note.versions.map((entry) => ({ ...entry, files: 1 }));
      const facts = { archive_sha256: sha256(bytes), archive_size_bytes: bytes.length };
      return { bytes, note: { version: 2, ...facts, increments: [], versions } };
    },
    async compact() {
      const old = note.increments;
      const packed = await chain.pack();
      note = packed.note;
      await writeFile(join(root, name), packed.bytes);
      await chain.writeNote();
      for (const increment of old) await rm(join(root, increment.name));
    },
  };
  return chain;
}

/** A repository `app` and its archive. */
export interface ChainedApp {
  archives: ArchiveFolder;
  app: TestRepository;
  chain: TestChain;
}

/** Gives each test of a file a copy of what `fill` makes once. */
export function useChain(name: string, fill: (made: ChainedApp) => Promise<void>): ChainedApp {
  let first: ChainedApp;
  let current: ChainedApp;
  beforeAll(async () => {
    const archives = await createArchiveFolder();
    const app = await archives.repository('app');
    first = { archives, app, chain: createChain(archives.root, name, app) };
    await fill(first);
  });
  afterAll(() => first.archives.remove());
  beforeEach(async () => {
    const archives = await createArchiveFolder();
    for (const part of ['root', 'outside'] as const) {
      await copyFolder(first.archives[part], archives[part]);
    }
    const app = await archives.repository('app');
    current = { archives, app, chain: first.chain.continueIn(archives.root, app) };
  });
  afterEach(() => current.archives.remove());
  return latest(() => current);
}

/** Changes one byte in the middle of a file. */
export async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  await writeFile(path, bytes);
}
