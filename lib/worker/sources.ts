import { cleanText } from '../platform/clean-text.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { type Git, GitError } from '../platform/git.ts';
import type { Log } from '../platform/log.ts';
import { type RepoState, readRepoState } from '../records/recording/repo-state.ts';
import { archiveKey } from './archive.ts';
import type { Display } from './display.ts';
import type { Journal } from './journal.ts';
import { backUpRepository, type RepositoryOutcome } from './repository.ts';
import type { Source } from './source.ts';
import { formatBytes } from './text.ts';

export interface SourcesContext {
  db: Database;
  clock: Clock;
  log: Log;
  display: Display;
  git: Git;
  journal: Journal;
  archiveFolder: string;
  signal: AbortSignal;
}

type Outcome = RepositoryOutcome | { status: 'failed'; errorMessage: string };

/**
 * Backs the sources up one after the other and writes each down, yielding how each ended. No two may
 * have the same archive. A repository that fails is a result; thrown is only what stops the run: its signal's reason, or the database's
 * absence.
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
  { db, log, git, journal, archiveFolder, signal }: SourcesContext,
  source: Source,
  show: (doing: string) => void,
): Promise<Outcome> {
  const key = archiveKey(source.name);
  const state: RepoState = await journal.persist(() => readRepoState(db, source.name, key));
  if (state.otherOwner !== null) {
    return failure(`the archive ${key} is that of ${state.otherOwner}`);
  }
  try {
    return await backUpRepository({
      git,
      archiveFolder,
      source,
      recordedSha256: state.archiveSha256,
      async onStep(step) {
        show(step);
        if (step === 'cloning') await journal.note('info', 'new or changed, cloning', source.name);
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) throw error;
    if (error instanceof GitError || isSystemError(error)) return failure(error.message);
    log.error('a repository could not be backed up', { repository: source.name, error });
    return failure(error instanceof Error ? error.message : String(error));
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
      await journal.record({ ...result, status: 'failed', errorMessage: outcome.errorMessage });
      return journal.note('error', outcome.errorMessage, source.name);
    case 'completed': {
      const { key, record } = outcome;
      await journal.record({
        ...result,
        status: 'completed',
        commitHash: record.figures.head_commit,
        archiveSizeBytes: record.archive_size_bytes,
        archive: { key, sha256: record.archive_sha256 },
      });
      const size = formatBytes(record.archive_size_bytes);
      const total = record.figures.total_commits;
      const commits = `${total} ${total === 1 ? 'commit' : 'commits'}`;
      return journal.note('info', `archived ${commits}, ${size} in ${key}`, source.name);
    }
  }
}

/** What the system refused, such as EACCES or ENOSPC: for a person to mend, no fault of ours. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function failure(text: string): Outcome {
  return { status: 'failed', errorMessage: cleanText(text) };
}
