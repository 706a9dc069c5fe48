import { AppError } from '../../errors.ts';
import { isSystemError } from '../../files.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { ObjectFault, type ObjectFaultKind } from '../../stores/reading/object-fault.ts';
import { cleanText } from '../../text/clean-text.ts';

/** An object in a store that nothing can be restored from. */
export class UnfitObject extends AppError {
  readonly kind: ObjectFaultKind;
  /** The version that needs it, if known. */
  readonly version: number | null;

  /** `isUsage`: a different command would work. */
  constructor(
    kind: ObjectFaultKind,
    message: string,
    { isUsage = false, version = null }: { isUsage?: boolean; version?: number | null } = {},
  ) {
    super(isUsage ? 'BAD_REQUEST' : 'CONFLICT', message);
    this.kind = kind;
    this.version = version;
  }
}

/** A store has no archive of a repository, as far as archive names could be read. */
export class NotInStore extends AppError {
  /** Whether there are archives whose names could not be read. */
  readonly hasUnread: boolean;

  constructor(message: string, hasUnread: boolean) {
    super('NOT_FOUND', message);
    this.hasUnread = hasUnread;
  }
}

/** Turns store faults into errors that the user may read. */
export async function explainFaults<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreFault) {
      throw new AppError('SERVICE_UNAVAILABLE', error.message, { cause: error });
    }
    if (error instanceof ObjectFault) {
      const lacksIdentity = error.kind === 'locked' && error.cause === undefined;
      const hint = lacksIdentity ? '' : '; --at restores from older states';
      throw new UnfitObject(error.kind, `${cleanText(error.message)}${hint}`, {
        isUsage: lacksIdentity,
      });
    }
    if (!isSystemError(error)) throw error;
    // A file system error, such as a full disk.
    throw new AppError('SERVICE_UNAVAILABLE', 'the download cannot be written', { cause: error });
  }
}
