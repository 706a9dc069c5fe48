import { AppError } from '../../errors.ts';
import { cleanName } from '../../text/clean-text.ts';
import { shellQuote } from '../../text/shell-quote.ts';

/** How the message of a damaged archive starts. */
export type ArchiveFaultKind = 'CHECKSUM_MISMATCH' | 'CORRUPT_ARCHIVE' | 'INCOMPLETE_HISTORY';

/** A damaged archive, described for a client. */
export class ArchiveFault extends AppError {
  readonly kind: ArchiveFaultKind;
  /** The message without the kind. */
  readonly reason: string;

  constructor(kind: ArchiveFaultKind, reason: string) {
    super('CONFLICT', `${kind}: ${reason}`);
    this.kind = kind;
    this.reason = reason;
  }
}

/** An archive with damaged bytes. */
export function corrupt(reason: string): ArchiveFault {
  return new ArchiveFault('CORRUPT_ARCHIVE', reason);
}

/** A file that is not the recorded one. */
export function mismatch(reason: string): ArchiveFault {
  return new ArchiveFault('CHECKSUM_MISMATCH', reason);
}

/** A bundle that lacks objects, or may lack some. */
export function incomplete(reason: string): ArchiveFault {
  return new ArchiveFault('INCOMPLETE_HISTORY', reason);
}

/** There is no archive of a repository. The name may be mistyped. `others`: what is there instead, as sentences. */
export class NoArchive extends AppError {
  readonly repository: string;
  readonly others: readonly string[];

  constructor(repository: string, others: readonly string[] = []) {
    const instead = others.length > 0 ? `: ${others.join('; ')}` : '';
    super('NOT_FOUND', `there is no archive of ${repository} in the archive folder${instead}`);
    this.repository = repository;
    this.others = others;
  }
}

/** Reads an archive. If there is none, the error also says why, where `findReason` knows it. */
export async function orSayWhyNone<Answer>(
  read: () => Promise<Answer>,
  findReason: () => Promise<string | null>,
): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof NoArchive)) throw error;
    const reason = await findReason();
    if (reason === null) throw error;
    throw new AppError('NOT_FOUND', `${error.message}: ${reason}`);
  }
}

/** Nothing says of which of several repositories an archive is, so it is nobody's. */
export class UnknownOwner extends AppError {
  constructor(archive: string, candidates: readonly string[]) {
    super(
      'CONFLICT',
      `${archive} may be of ${joinNames(candidates)}, and neither a note, a manifest nor the database says of which: \`git clone ${shellQuote(archive)}\` shows what is in it`,
    );
  }
}

/** `a/b, c/d or e/f`. */
export function joinNames(names: readonly string[]): string {
  const [last = '', ...others] = names.map((name) => cleanName(name)).reverse();
  return others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`;
}
