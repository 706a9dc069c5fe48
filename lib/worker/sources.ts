import type { Clock } from '../clock.ts';
import type { RetentionPolicy } from '../config/versions.ts';
import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';
import { type Git, GitError } from '../git/git.ts';
import type { Log } from '../log.ts';
import { type RepoState, readRepoState, recordArchive } from '../records/recording/repo-state.ts';
import { cleanText } from '../text/clean-text.ts';
import { formatBytes } from '../text/units.ts';
import { archiveKey, type KeptArchive } from './archive.ts';
import type { Destination } from './destination/open-destination.ts';
import type { Display } from './display.ts';
import { explainHostError } from './git-host/errors.ts';
import type { Journal } from './journal.ts';
import { backUpRepository } from './repository.ts';
import type { RepositoryOutcome } from './repository-backup.ts';
import type { Source } from './source.ts';
import { RunStopped } from './stop.ts';

export interface SourcesContext {
  db: Database;
  clock: Clock;
  log: Log;
  display: Display;
  git: Git;
  journal: Journal;
  runId: number;
  archiveFolder: string;
  mirrorFolder: string;
  retention: RetentionPolicy;
  incrementsFromBytes: number;
  /** Where archives are pushed, if anywhere. */
  destination: Destination | null;
  signal: AbortSignal;
}

type Outcome =
  | RepositoryOutcome
  /** `archive`: was written but not pushed. */
  | { status: 'failed' | 'too_large'; errorMessage: string; archive: KeptArchive | null };

/**
 * Backs up the sources one after the other, records each and yields its outcome. No two may have the same
 * archive. A failure of a repository is an outcome. Throws only what stops the run: the signal's reason, an
 * unavailable database, or a login that the user must renew.
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
    await recordOutcome(journal, source, outcome, clock.now() - began);
    yield { source, status: outcome.status };
  }
  display.clear();
}

async function backUpSource(
  context: SourcesContext,
  source: Source,
  show: (doing: string) => void,
): Promise<Outcome> {
  const { db, log, journal, signal } = context;
  for (const remark of source.host?.remarks ?? []) await journal.note('info', remark, source.name);
  if (source.host?.fault) return failure(source.host.fault);
  const key = archiveKey(source.name);
  const state: RepoState = await journal.persist(() => readRepoState(db, source.name, key));
  if (state.otherOwner !== null) {
    return failure(`the archive ${key} belongs to ${state.otherOwner}`);
  }
  try {
    const outcome = await backUpRepository({
      ...context,
      source,
      now: context.clock.now,
      recordedSha256: state.archiveSha256,
      async onStep(step) {
        show(step);
        if (step === 'cloning') await journal.note('info', 'new or changed, fetching', source.name);
      },
      onRemark: (level, text) => journal.note(level, text, source.name),
      onVersion: async () => undefined,
      onPruned: async () => undefined,
      onPublished: ({ key, record: { archive_sha256: sha256 } }) =>
        journal.persist(() => recordArchive(db, source.name, { key, sha256 })),
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

/** Pushes an archive, including one that an earlier run could not push. */
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

/** git's message and, for a discovered repository, the reason that the git host gives. */
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
    const why = explainHostError(error, host?.url ?? '').message;
    log.warn('the git host gave no reason why a repository failed', { repository: name, why });
    return message;
  }
}

async function recordOutcome(
  journal: Journal,
  source: Source,
  outcome: Outcome,
  durationMs: number,
): Promise<void> {
  const none = { commitHash: '', archiveSizeBytes: 0, errorMessage: '', archive: null };
  const result = { ...none, repository: source.name, durationMs };
  switch (outcome.status) {
    case 'unchanged':
      return journal.skip(source.name);
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
      const { total_commits: total, uncounted } = record.figures;
      const commits = `${total} ${total === 1 ? 'commit' : 'commits'}, `;
      const archived = `archived ${uncounted.includes('commits') ? '' : commits}${size} in ${key}`;
      await journal.note('info', archived, source.name);
      if (uncounted.length === 0) return;
      const text = `the ${uncounted.join(' and ')} were not counted: there are too many, or git could not read them in time; the archive contains all of them`;
      return journal.note('warn', text, source.name);
    }
  }
}

/** The fields of a result that describe an archive. */
function factsOf({ key, record }: KeptArchive) {
  return {
    commitHash: record.figures.head_commit,
    archiveSizeBytes: record.archive_size_bytes,
    archive: { key, sha256: record.archive_sha256 },
  };
}

/** A system error, such as EACCES or ENOSPC, which the user has to fix. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function failure(text: string): Outcome {
  return { status: 'failed', errorMessage: cleanText(text), archive: null };
}
