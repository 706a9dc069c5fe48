import { AppError } from '../errors.ts';

/** How the message of a damaged archive starts. */
export type FaultKind = 'CHECKSUM_MISMATCH' | 'CORRUPT_ARCHIVE' | 'INCOMPLETE_HISTORY';

/** A damaged archive, described for a client. */
export class ArchiveFault extends AppError {
  readonly kind: FaultKind;
  /** The message without the kind. */
  readonly reason: string;

  constructor(kind: FaultKind, reason: string) {
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

/** There is no archive of a repository. The name may be mistyped. */
export class NoArchive extends AppError {
  constructor(repository: string) {
    super('NOT_FOUND', `there is no archive of ${repository} in the archive folder`);
  }
}
