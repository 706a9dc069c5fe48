import { counted, formatBytes } from '../../../text/units.ts';
import { archiveBytes, type KeptArchive } from '../../archive/archive.ts';
import type { Outcome } from '../../backup/outcome.ts';
import type { Source } from '../../base/source.ts';
import type { Journal } from '../spool/journal.ts';

/** Records an outcome and logs it. */
export async function recordOutcome(
  journal: Journal,
  source: Source,
  outcome: Outcome,
  { durationMs, tries }: { durationMs: number; tries: number },
): Promise<void> {
  const none = { commitHash: '', archiveSizeBytes: 0, errorMessage: '', archive: null };
  const result = { ...none, repository: source.name, durationMs, tries };
  switch (outcome.status) {
    case 'unchanged':
      return journal.skip(source.name);
    case 'empty':
      await journal.record({ ...result, status: 'empty' });
      return journal.note('info', 'empty: no branches or tags to archive', source.name);
    case 'failed':
    case 'too_large': {
      const { status, errorMessage, archive, fault, isUnread = false } = outcome;
      if (isUnread) return journal.unread(source, errorMessage);
      const facts = { ...(archive && factsOf(archive)), fault: fault.kind };
      await journal.record({ ...result, ...facts, status, errorMessage });
      return journal.note('error', errorMessage, source.name);
    }
    case 'completed': {
      const { key, record } = outcome;
      await journal.record({ ...result, ...factsOf(outcome), status: 'completed' });
      const size = formatBytes(archiveBytes(record));
      const { total_commits: total, uncounted } = record.figures;
      const commits = `${counted(total, 'commit')}, `;
      const archived = `archived ${uncounted.includes('commits') ? '' : commits}${size} in ${key}`;
      await journal.note('info', archived, source.name);
      if (record.incomplete !== null) await journal.note('warn', record.incomplete, source.name);
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
    archiveSizeBytes: archiveBytes(record),
    incomplete: record.incomplete,
    archive: { key, sha256: record.archive_sha256 },
  };
}
