import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { Protocol } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ServerResult } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { describeIssue, formatIssues } from '../http/validation-messages.ts';
import { invalidParams } from './protocol-error.ts';

/**
 * Answers the requests of one method. Parameters that do not fit are INVALID_PARAMS: the SDK, left to parse
 * them, would answer with an internal error.
 */
export function handleRequest<Params extends z.ZodType>(
  server: Server,
  { shape: { method, params } }: { shape: { method: z.ZodLiteral<string>; params: Params } },
  handler: (params: z.output<Params>, signal: AbortSignal) => ServerResult | Promise<ServerResult>,
): void {
  const given = z.object({ method, params: z.unknown().optional() });
  // Not by the server's own method, which checks a tool call first and words its faults twice.
  Protocol.prototype.setRequestHandler.call(server, given, (request, { signal }) => {
    const parsed = params.safeParse(request.params, { error: describeIssue });
    if (parsed.success) return handler(parsed.data, signal);
    throw invalidParams(`invalid params: ${formatIssues(parsed.error)}`);
  });
}
