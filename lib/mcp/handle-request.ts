import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { ServerResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
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
  server.setRequestHandler(given, (request, { signal }) => {
    const parsed = params.safeParse(request.params);
    if (parsed.success) return handler(parsed.data, signal);
    const faults = parsed.error.issues.map(({ path, message }) =>
      [...path, message].join(': ').slice(0, 100),
    );
    throw invalidParams(`invalid params: ${faults.slice(0, 5).join('; ')}`);
  });
}
