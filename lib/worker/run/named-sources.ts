import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Database } from '../../database/database.ts';
import { replaceFile } from '../../durable-files.ts';
import { isSystemError, nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';
import { listSources, mergeSources, type TrackedSource } from '../../records/sources/sources.ts';
import { counted } from '../../text/units.ts';
import { RunStopped } from '../base/stop.ts';
import type { NamedSources } from './run-deps.ts';

const FILE = 'sources.json';

/** What was added when a run last asked the database. */
const remembered = z.array(
  z.object({
    id: z.int(),
    kind: z.enum(['login', 'folder', 'address']),
    address: z.string(),
    key: z.string(),
    exclude: z.array(z.string()),
    pausedAt: z.string().nullable(),
  }),
);

interface ReadOptions {
  named: NamedSources;
  dataFolder: string;
  /** Whether what is read is remembered in DATA_DIR, for a run that cannot reach the database. */
  remembers: boolean;
  note(level: 'info' | 'warn', text: string): Promise<void>;
  read<Value>(
    work: (db: Database) => Promise<Value>,
    without: () => Value | Promise<Value>,
  ): Promise<Value>;
}

/** The sources that a run takes. */
export interface TakenSources {
  /** The source of what the login discovers; null if the run is not meant to take it. */
  login: TrackedSource | null;
  /** All others, paused ones included. */
  others: TrackedSource[];
  /** Whether the run takes all sources that are not paused. */
  isAll: boolean;
}

/**
 * The sources of a run without `--source`. While the database is unreachable, those that the last run knew. Throws
 * RunStopped if the run is for sources that no longer exist.
 */
export async function readNamedSources(options: ReadOptions): Promise<TakenSources> {
  const { named, note, read } = options;
  const all = await read(
    (db) => readAndRemember(db, options),
    () => recall(options),
  );
  if (named.ids === null) return divide(all, true);
  const ids = new Set(named.ids);
  const taken = all.filter(({ id }) => ids.delete(id));
  for (const id of ids) await note('warn', `there is no source ${id} any more`);
  if (taken.length === 0) {
    throw new RunStopped(
      'nothing to back up: none of the sources of --source-id exists; `npm run worker -- sources list` lists what does',
    );
  }
  return divide(taken, false);
}

function divide(sources: readonly TrackedSource[], isAll: boolean): TakenSources {
  return {
    login: sources.find(({ kind }) => kind === 'login') ?? null,
    others: sources.filter(({ kind }) => kind !== 'login'),
    isAll,
  };
}

async function readAndRemember(
  db: Database,
  { named, dataFolder, remembers }: ReadOptions,
): Promise<TrackedSource[]> {
  const sources = await listSources(db, named.configured);
  const added = sources.filter(({ setBy, id, exclude, pausedAt }) => {
    const isPlainLogin = id === 0 && exclude.length === 0 && pausedAt === null;
    return setBy === null && !isPlainLogin;
  });
  if (remembers) {
    const text = JSON.stringify(added.map((one) => remembered.element.parse(one)));
    await replaceFile(join(dataFolder, FILE), `${text}\n`);
  }
  return sources;
}

/** What the last run on this machine knew. */
async function recall({ named, dataFolder, note }: ReadOptions): Promise<TrackedSource[]> {
  const added = await readRemembered(dataFolder);
  if (added === null) {
    await note('warn', 'the sources that were added are unknown without the database');
    return mergeSources([], named.configured);
  }
  const known = counted(added.length, 'source');
  if (added.length > 0) await note('info', `takes the ${known} that the last run knew`);
  const rest = { pausedBy: null, setBy: null, createdAt: null, createdBy: null };
  return mergeSources(
    added.map((one) => ({ ...one, ...rest })),
    named.configured,
  );
}

async function readRemembered(dataFolder: string): Promise<z.output<typeof remembered> | null> {
  try {
    const text = await nullIfMissing(readFile(join(dataFolder, FILE), 'utf8'));
    return remembered.safeParse(text === null ? null : parseJson(text)).data ?? null;
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}
