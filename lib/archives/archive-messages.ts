import { AppError, type ErrorCode } from '../errors.ts';
import type { ArchiveWork } from './archive-work.ts';
import { ArchiveFault, type ArchiveFaultKind, NoArchive } from './base/archive-fault.ts';
import type { RecordedArchive } from './base/archive-owner.ts';
import type { ArchiveLimits } from './base/limits.ts';
import { NoSuchFile } from './contents/file-content.ts';

/** What the process of archives needs to know to start. */
export interface ProcessOptions {
  root: string;
  scratchFolder: string;
  environment: Record<string, string | undefined>;
  limits: ArchiveLimits;
}

/** A message to the process of archives. `call` and `question` are ids. */
export type ToProcess =
  | { kind: 'options'; options: ProcessOptions }
  | { kind: 'call'; call: number; method: keyof ArchiveWork; given: unknown[] }
  | { kind: 'cancel'; call: number }
  | { kind: 'record'; question: number; record: RecordedArchive | null }
  | { kind: 'no record'; question: number };

/** A message of the process of archives. It asks for records, since it has no database. */
export type FromProcess =
  | { kind: 'done'; call: number; result: unknown }
  | { kind: 'failed'; call: number; error: SentError }
  | { kind: 'find record'; call: number; question: number; repository: string };

/** An error as data. `parts` are the arguments of its constructor. */
export type SentError =
  | { type: 'fault'; parts: [ArchiveFaultKind, string] }
  | { type: 'no archive'; parts: [string, readonly string[]] }
  | { type: 'no file'; parts: [string, readonly string[]] }
  | { type: 'app'; parts: [ErrorCode, string]; cause: unknown }
  | { type: 'other'; error: Error };

/** Describes an error for the other process. */
export function packError(error: unknown): SentError {
  if (error instanceof ArchiveFault) return { type: 'fault', parts: [error.kind, error.reason] };
  if (error instanceof NoArchive)
    return { type: 'no archive', parts: [error.repository, error.others] };
  if (error instanceof NoSuchFile) return { type: 'no file', parts: [error.path, error.near] };
  if (error instanceof AppError) {
    const cause = error.cause === undefined ? undefined : asError(error.cause);
    return { type: 'app', parts: [error.code, error.message], cause };
  }
  return { type: 'other', error: asError(error) };
}

/** The error that was described. */
export function unpackError(sent: SentError): Error {
  switch (sent.type) {
    case 'fault':
      return new ArchiveFault(...sent.parts);
    case 'no archive':
      return new NoArchive(...sent.parts);
    case 'no file':
      return new NoSuchFile(...sent.parts);
    case 'app':
      return new AppError(...sent.parts, sent.cause === undefined ? {} : { cause: sent.cause });
    case 'other':
      return sent.error;
  }
}

/** An error whose message, stack and nothing else can be sent. */
function asError(thrown: unknown): Error {
  const error = new Error(thrown instanceof Error ? thrown.message : String(thrown));
  if (thrown instanceof Error && thrown.stack !== undefined) error.stack = thrown.stack;
  return error;
}
