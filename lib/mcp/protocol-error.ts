import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';

/** The protocol's code for a resource that is not there. */
export const RESOURCE_NOT_FOUND = -32002;

/** What ends a request with a JSON-RPC error: its code, its message and facts about it. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The request names something that the server does not have. */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, message);
}

/**
 * What a client learns when what it asked for cannot be made: the message of an AppError; for anything
 * else, which is logged with its cause, a fixed text.
 */
export function asProtocolError(thrown: unknown, what: string, log: Log): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  if (thrown instanceof AppError && thrown.code !== 'INTERNAL_ERROR') {
    if (thrown.cause !== undefined) log.warn(`${what} could not be made`, { error: thrown });
    return new ProtocolError(ErrorCode.InternalError, thrown.message);
  }
  log.error(`${what} failed`, { error: thrown });
  return new ProtocolError(ErrorCode.InternalError, `${what} failed with an internal error`);
}
