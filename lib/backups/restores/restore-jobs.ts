import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createCallerLimit } from '../../caller-concurrency.ts';
import type { Clock } from '../../clock.ts';
import { archivePath, restorePath } from '../../config/archives.ts';
import type { Environment } from '../../config/read.ts';
import type { Database } from '../../database/database.ts';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import type { Log } from '../../log/log.ts';
import { type Repeating, repeat } from '../../log/repeat.ts';
import { type InstantLock, tryProcessLock } from '../../processes/instant-lock.ts';
import { superviseGroup } from '../../processes/process-group.ts';
import {
  insertRestore,
  interruptRestores,
  type NewRestore,
  type RestoreState,
  updateRestore,
} from '../../records/restores.ts';
import { parseRestoreEvent, type RestoreEvent } from '../../restore/restore-events.ts';
import { cleanText } from '../../text/clean-text.ts';
import { splitRecords } from '../../text/split-records.ts';
import type { RestoreJobs, RestoreRequest } from '../base/restores-deps.ts';
import { freeFolderName } from './folder-name.ts';

interface RestoreJobsOptions {
  config: {
    DATA_DIR: string;
    BACKUP_ARCHIVE_PATH?: string | undefined;
    RESTORE_DIR?: string | undefined;
  };
  db: Database;
  clock: Clock;
  log: Log;
  /** The environment of the worker, which has its logins and the archive folder. */
  environment: Environment;
  /** The script of the worker. */
  script: string;
}

interface Job {
  id: number;
  request: NewRestore;
  stop: AbortController;
  state: RestoreState;
  /** Resolves when it has ended and that is recorded, as far as the database can be reached. */
  ended: Promise<void>;
}

/** Of all callers together, and of one. */
const TURNS = { total: 2, perCaller: 1 };
const MAX_UNFINISHED = 50;
const MAX_UNFINISHED_OF_CALLER = 10;
/** The largest repositories take hours. */
const MAX_MS = 24 * 60 * 60_000;
/** How often a sign of life is recorded, and what could not be recorded before. */
const SIGN_MS = 20_000;
const MAX_ERROR_LENGTH = 2_000;

/** Reasons for which a restore is stopped. */
const CANCELED = new Error('canceled');
const CLOSING = new Error('the server is stopped');

/** Restores on this machine. What an earlier server with the same data folder has not ended was interrupted. */
export async function openRestoreJobs(options: RestoreJobsOptions): Promise<RestoreJobs> {
  const { config, db, clock, log, script } = options;
  const root = restorePath(config);
  const dataDir = resolve(config.DATA_DIR);
  const server = `${hostname()}:${dataDir}`;
  const limit = createCallerLimit(TURNS);
  const jobs = new Map<number, Job>();
  /** Who has asked, and for which target, from then until it ends: what is asked for at once knows of each other. */
  const asked = new Set<{ by: string; target: string | null }>();
  /** Those that have ended, but whose end is not recorded yet. */
  const unsaved = new Set<Job>();
  let lock: InstantLock | null = null;
  let isClosing = false;

  /** Only one server restores into a folder, and may say that what it does not know has been interrupted. */
  async function claim(): Promise<void> {
    if (lock?.held) return;
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    lock = await tryProcessLock(join(dataDir, 'restores.lock'));
    if (!lock.held) {
      const why = lock.busy ? 'another server with this DATA_DIR restores' : lock.reason;
      throw new AppError('CONFLICT', `this server cannot restore: ${why}`);
    }
    const ids = await interruptRestores(db, server);
    if (ids.length > 0) log.warn('restores were interrupted when the server was stopped', { ids });
  }

  async function save(job: Job): Promise<void> {
    try {
      await updateRestore(db, job.id, job.state);
      unsaved.delete(job);
    } catch (error) {
      unsaved.add(job);
      log.error('the state of a restore could not be recorded', { restore: job.id, error });
    }
  }

  async function perform(job: Job): Promise<void> {
    const { state, stop, request } = job;
    const facts = {
      ...{ restore: job.id, repository: request.repository, version: request.version },
      ...{ kind: request.kind, target: request.target, by: request.requestedBy },
    };
    log.info('a restore was asked for', facts);
    try {
      await limit(request.requestedBy, stop.signal, async () => {
        state.status = 'running';
        state.startedAt = new Date(clock.now()).toISOString();
        await save(job);
        await runWorker(job);
      });
      state.status = 'done';
    } catch (error) {
      const { reason } = stop.signal;
      if (reason === CANCELED) state.status = 'canceled';
      else if (reason === CLOSING) state.status = 'interrupted';
      else state.status = 'failed';
      state.error = state.status === 'canceled' ? null : describe(error);
      if (state.status === 'failed' && !(error instanceof AppError)) {
        log.error('a restore ended unexpectedly', { restore: job.id, error });
      }
    }
    state.endedAt = new Date(clock.now()).toISOString();
    await save(job);
    jobs.delete(job.id);
    const { status, error } = state;
    const tell = status === 'failed' || status === 'interrupted' ? log.warn : log.info;
    tell('a restore ended', { ...facts, status, ...(error === null ? {} : { reason: error }) });
  }

  /** Runs the command. Throws AppError with what it said if it failed. */
  async function runWorker({ state, request, stop, id }: Job): Promise<void> {
    const child = spawn(process.execPath, [script, ...commandOf(request)], {
      env: options.environment,
      // Not in a group with the server, which Ctrl-C reaches.
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const group = superviseGroup(child, { signal: stop.signal, timeoutMs: MAX_MS });
    if (stop.signal.aborted) group.stop();
    const said = readEnd(child);
    try {
      const ended = Promise.race([
        once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
        group.lost.then((): [null, NodeJS.Signals] => [null, 'SIGKILL']),
      ]);
      const seen = follow(child, (event) => {
        apply(state, event);
        void save(jobs.get(id) as Job);
      });
      const [code, signal] = await ended;
      await seen;
      stop.signal.throwIfAborted();
      if (group.timedOut()) throw new AppError('DEADLINE_EXCEEDED', 'it took longer than a day');
      const restored = state.result?.restored ?? null;
      // Everything is there, except files whose names the file system rejects.
      const isPartly = code === 1 && restored !== null && restored.unwritten > 0;
      const hasPushed = request.kind === 'folder' || state.result?.pushed?.missing === 0;
      if (restored !== null && hasPushed && (code === 0 || isPartly)) return;
      const why = said() || `the worker ended with ${signal ?? code}`;
      throw new AppError('CONFLICT', why);
    } finally {
      group.release();
    }
  }

  /** Finds a folder that does not exist yet, and takes it for `own`. */
  async function findTarget(
    { folder, repository, version }: RestoreRequest,
    own: { target: string | null },
  ): Promise<string> {
    const isTaken = (path: string) => [...asked].some(({ target }) => target === path);
    const isFree = async (path: string) => {
      if ((await nullIfMissing(lstat(path))) !== null || isTaken(path)) return false;
      own.target = path;
      return true;
    };
    if (folder !== null) {
      const path = join(root, folder);
      if (await isFree(path)) return path;
      throw new AppError('CONFLICT', `${path} already exists: choose another name`);
    }
    return freeFolderName({ root, repository, version, isFree });
  }

  /** Records a restore that waits for its turn. */
  async function prepare(
    request: RestoreRequest,
    own: { by: string; target: string | null },
  ): Promise<Job> {
    await claim();
    if (request.push === null) await makeRoot(root, archivePath(config));
    const { repository, version, ref, isBare, push } = request;
    const restore: NewRestore = {
      ...{ repository, version, ref, isBare, requestedBy: own.by, server },
      kind: push === null ? 'folder' : 'push',
      target: push ?? (await findTarget(request, own)),
    };
    return {
      ...{ id: await insertRestore(db, restore), request: restore, stop: new AbortController() },
      ended: Promise.resolve(),
      state: {
        ...{ status: 'waiting', step: null, filesDone: null, files: null, error: null },
        ...{ result: null, startedAt: null, endedAt: null },
      },
    };
  }

  const signs: Repeating = repeat(() => Promise.all([...jobs.values(), ...unsaved].map(save)), {
    what: 'recording restores',
    intervalMs: SIGN_MS,
    clock,
    log,
  });

  // Another server may restore: this one says so when it is asked to.
  await claim().catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    log.warn(error.message);
  });

  return {
    root,
    async start(request, by) {
      if (isClosing) throw new AppError('SERVICE_UNAVAILABLE', 'the server is being stopped');
      const own = { by, target: request.push };
      const unfinished = [...asked].filter((other) => other.by === by);
      if (asked.size >= MAX_UNFINISHED || unfinished.length >= MAX_UNFINISHED_OF_CALLER) {
        throw new AppError(
          'RATE_LIMITED',
          'too many restores wait for their turn: try again later',
          { headers: { 'Retry-After': '60' } },
        );
      }
      asked.add(own);
      const job = await prepare(request, own).catch((error: unknown) => {
        asked.delete(own);
        throw error;
      });
      jobs.set(job.id, job);
      // The server began to stop while it was recorded.
      if (isClosing) job.stop.abort(CLOSING);
      job.ended = perform(job).finally(() => asked.delete(own));
      return job.id;
    },
    async cancel(id, by) {
      const job = jobs.get(id);
      if (job === undefined) return false;
      log.info('a restore is canceled', { restore: id, by });
      job.stop.abort(CANCELED);
      await job.ended;
      return true;
    },
    async close() {
      isClosing = true;
      const running = [...jobs.values()];
      for (const { stop } of running) stop.abort(CLOSING);
      await Promise.all(running.map(({ ended }) => ended));
      await signs.stop();
      if (lock?.held) lock.release();
      lock = null;
    },
  };
}

/** Makes RESTORE_DIR, readable only by this user. Throws CONFLICT if it is in the archive folder. */
async function makeRoot(root: string, archives: string): Promise<void> {
  if (`${root}/`.startsWith(`${archives}/`)) {
    throw new AppError(
      'CONFLICT',
      'RESTORE_DIR is in the archive folder: set it to another folder',
    );
  }
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new AppError('CONFLICT', `${root} (RESTORE_DIR) cannot be written`, { cause: error });
  }
}

/** The arguments of the worker. The address has no credentials. */
function commandOf({ repository, version, ref, isBare, kind, target }: NewRestore): string[] {
  return [
    ...['restore', '--json', kind === 'push' ? `--push=${target}` : `--to=${target}`],
    ...(version === null ? [] : [`--version=${version}`]),
    ...(ref === null ? [] : [`--ref=${ref}`]),
    ...(isBare && kind === 'folder' ? ['--bare'] : []),
    // After it, a name that begins with a hyphen is not taken for an option.
    ...['--', repository],
  ];
}

async function follow(child: ChildProcess, onEvent: (event: RestoreEvent) => void): Promise<void> {
  const lines = splitRecords(child.stdout?.setEncoding('utf8') ?? [], '\n');
  for await (const line of lines) {
    const event = parseRestoreEvent(line);
    if (event !== null) onEvent(event);
  }
}

function apply(state: RestoreState, event: RestoreEvent): void {
  if (event.event === 'step') {
    state.step = event.step;
    state.filesDone = event.files ?? state.filesDone;
    state.files = event.all_files ?? state.files;
    return;
  }
  const { event: kind, ...facts } = event;
  const before = state.result ?? { restored: null, pushed: null };
  state.result = { ...before, [kind]: facts };
}

/** The last line that the command wrote to its error output, which says why it failed. */
function readEnd(child: ChildProcess): () => string {
  let end = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    end = (end + text).slice(-2 * MAX_ERROR_LENGTH);
  });
  return () => cleanText(end.trim().split('\n').at(-1) ?? '', MAX_ERROR_LENGTH);
}

function describe(error: unknown): string {
  if (error === CLOSING) {
    return 'the server was stopped; what was restored so far is gone, and nothing else was changed';
  }
  return error instanceof AppError ? error.message : 'the worker could not be started';
}
