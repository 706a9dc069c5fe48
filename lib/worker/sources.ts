import { cleanText } from '../platform/clean-text.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { type Git, GitError } from '../platform/git.ts';
import type { Log } from '../platform/log.ts';
import { formatBytes } from '../platform/units.ts';
import { type RepoState, readRepoState } from '../records/recording/repo-state.ts';
import { archiveKey, type KeptArchive } from './archive.ts';
import type { Destination } from './destination/destination.ts';
import type { Display } from './display.ts';
import { explainHostFault } from './git-host/faults.ts';
import type { Journal } from './journal.ts';
import { backUpRepository, type RepositoryOutcome } from './repository.ts';
import type { Source } from './source.ts';
import { RunStopped } from './stop.ts';

export interface SourcesContext {
  db: Database;
  clock: Clock;
  log: Log;
  display: Display;
  git: Git;
  journal: Journal;
  archiveFolder: string;
  /** Where archives are pushed; null for nowhere. */
  destination: Destination | null;
  signal: AbortSignal;
}

type Outcome =
  | RepositoryOutcome
  /** `archive`: what is there all the same, though it was not pushed. */
  | { status: 'failed' | 'too_large'; errorMessage: string; archive: KeptArchive | null };

/**
 * Backs the sources up one after the other and writes each down, yielding how each ended. No two may
 * have the same archive. A repository that fails is a result; thrown is only what stops the run: its
 * signal's reason, the database's absence, or a login that is needed anew.
 */
export async function* backUpSources(
  context: SourcesContext,
  sources: readonly Source[],
): AsyncGenerator<{ source: Source; status: Outcome['status'] }> {
  const { clock, display, journal, signal } = context;
  for (const [index, source] of sources.entries()) {
    signal.throwIfAborted();
    const show = (doing: string) =>
      display.progress(index, sources.length, `${cleanText(source.name)}: ${doing}`);
    const began = clock.now();
    const outcome = await backUpSource(context, source, show);
    await writeDown(journal, source, outcome, clock.now() - began);
    yield { source, status: outcome.status };
  }
  display.clear();
}

async function backUpSource(
  context: SourcesContext,
  source: Source,
  show: (doing: string) => void,
): Promise<Outcome> {
  const { db, log, git, journal, archiveFolder, signal } = context;
  for (const remark of source.host?.remarks ?? []) await journal.note('info', remark, source.name);
  if (source.host?.fault) return failure(source.host.fault);
  const key = archiveKey(source.name);
  const state: RepoState = await journal.persist(() => readRepoState(db, source.name, key));
  if (state.otherOwner !== null) {
    return failure(`the archive ${key} is that of ${state.otherOwner}`);
  }
  try {
    const outcome = await backUpRepository({
      git,
      archiveFolder,
      source,
      recordedSha256: state.archiveSha256,
      async onStep(step) {
        show(step);
        if (step === 'cloning') await journal.note('info', 'new or changed, cloning', source.name);
      },
    });
    return await deliver(context, source, outcome, show);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError || error instanceof RunStopped) throw error;
    if (error instanceof GitError) return failure(await explain(context, source, error));
    if (isSystemError(error)) return failure(error.message);
    log.error('a repository could not be backed up', { repository: source.name, error });
    return failure(error instanceof Error ? error.message : String(error));
  }
}

/** Pushes an archive, also one that an earlier run could not push, where there is a destination. */
async function deliver(
  { destination, journal }: SourcesContext,
  source: Source,
  outcome: RepositoryOutcome,
  show: (doing: string) => void,
): Promise<Outcome> {
  if (destination === null || outcome.status === 'empty') return outcome;
  show('pushing');
  const delivery = await destination.deliver(source, outcome);
  const { key, record } = outcome;
  if (delivery.status === 'there') return outcome;
  if (delivery.status === 'pushed') {
    await journal.note('info', 'pushed to the destination', source.name);
    return { status: 'completed', key, record };
  }
  const errorMessage = cleanText(delivery.reason);
  return { status: delivery.status, errorMessage, archive: { key, record } };
}

/** What git said, and what the git host says of it where the repository was discovered there. */
async function explain(
  { signal, log }: SourcesContext,
  { host, name }: Source,
  { message }: GitError,
): Promise<string> {
  try {
    const reason = (await host?.explain()) ?? null;
    return reason === null ? message : `${reason}; git said: ${message}`;
  } catch (error) {
    signal.throwIfAborted();
    const why = explainHostFault(error, host?.url ?? '').message;
    log.warn('the git host did not say why a repository failed', { repository: name, why });
    return message;
  }
}

async function writeDown(
  journal: Journal,
  source: Source,
  outcome: Outcome,
  durationMs: number,
): Promise<void> {
  const none = { commitHash: '', archiveSizeBytes: 0, errorMessage: '', archive: null };
  const result = { ...none, repository: source.name, durationMs };
  switch (outcome.status) {
    case 'unchanged':
      journal.skip();
      return journal.note('info', 'unchanged, skipped', source.name);
    case 'empty':
      await journal.record({ ...result, status: 'empty' });
      return journal.note('info', 'empty: no branches or tags to archive', source.name);
    case 'failed':
    case 'too_large': {
      const { status, errorMessage, archive } = outcome;
      await journal.record({ ...result, ...(archive && factsOf(archive)), status, errorMessage });
      return journal.note('error', errorMessage, source.name);
    }
    case 'completed': {
      const { key, record } = outcome;
      await journal.record({ ...result, ...factsOf(outcome), status: 'completed' });
      const size = formatBytes(record.archive_size_bytes);
      const total = record.figures.total_commits;
      const commits = `${total} ${total === 1 ? 'commit' : 'commits'}`;
      return journal.note('info', `archived ${commits}, ${size} in ${key}`, source.name);
    }
  }
}

/** What a result says of an archive. */
function factsOf({ key, record }: KeptArchive) {
  return {
    commitHash: record.figures.head_commit,
    archiveSizeBytes: record.archive_size_bytes,
    archive: { key, sha256: record.archive_sha256 },
  };
}

/** What the system refused, such as EACCES or ENOSPC: for a person to mend, no fault of ours. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function failure(text: string): Outcome {
  return { status: 'failed', errorMessage: cleanText(text), archive: null };
}
