import { AppError } from '../platform/errors.ts';

/** What an archive that is not whole is called in the message (decisions 6). */
export type FaultKind = 'CHECKSUM_MISMATCH' | 'CORRUPT_ARCHIVE' | 'INCOMPLETE_HISTORY';

/** What is wrong with an archive, for a client to read. */
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

/** An archive whose bytes are not what they must be. */
export function corrupt(reason: string): ArchiveFault {
  return new ArchiveFault('CORRUPT_ARCHIVE', reason);
}

/** A bundle that does not hold everything, or of which that cannot be told. */
export function incomplete(reason: string): ArchiveFault {
  return new ArchiveFault('INCOMPLETE_HISTORY', reason);
}
