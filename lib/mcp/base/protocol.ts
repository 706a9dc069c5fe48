import { Protocol } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  ErrorCode,
  type Notification,
  type Request,
  type Result,
  type ServerResult,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { describeIssue, formatIssues } from '../../http/validation-messages.ts';
import type { Log } from '../../log/log.ts';

/** The protocol's code for a resource that does not exist. */
export const RESOURCE_NOT_FOUND = -32002;

/**
 * One end of the protocol that only answers. The SDK's `Server` also checks what a server asks its client,
 * which loads a JSON Schema validator: a sixth of the cold start, for requests that this server never makes.
 */
export class ProtocolServer extends Protocol<Request, Notification, Result> {
  protected override assertCapabilityForMethod(): void {
    // Allowed.
  }
  protected override assertNotificationCapability(): void {
    // Allowed.
  }
  protected override assertRequestHandlerCapability(): void {
    // Allowed.
  }
  protected override assertTaskCapability(): void {
    // Allowed.
  }
  protected override assertTaskHandlerCapability(): void {
    // Allowed.
  }

  /** Answers the requests of one method. Parameters that do not match the schema are INVALID_PARAMS. */
  handle<Params extends z.ZodType>(
    { shape: { method, params } }: { shape: { method: z.ZodLiteral<string>; params: Params } },
    handler: (
      params: z.output<Params>,
      signal: AbortSignal,
    ) => ServerResult | Promise<ServerResult>,
  ): void {
    // Parsed here: the SDK would answer wrong parameters with an internal error.
    const given = z.object({ method, params: z.unknown().optional() });
    this.setRequestHandler(given, (request, { signal }) => {
      const parsed = params.safeParse(request.params, { error: describeIssue });
      if (parsed.success) return handler(parsed.data, signal);
      throw invalidParams(`invalid params: ${formatIssues(parsed.error)}`);
    });
  }
}

/** Ends a request with a JSON-RPC error. */
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

/** The error for a request that names something the server does not have. */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, message);
}

/**
 * Converts what a handler threw: clients read the message of an AppError, and a fixed text for anything else,
 * which is logged with its cause.
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
