import { z } from 'zod';
import { observatoryError } from '../platform/http/error-shapes.ts';
import type { Route, RouteResponse } from '../platform/http/route.ts';

/** Every path is there with this in front too (decisions 1). */
export const PREFIX = '/observatory';

/**
 * Declares a route of the observatory: its errors have the observatory's body, and its path is there
 * with and without the prefix.
 */
export function declareRoute<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
>(route: Route<Params, Query, Body>): Route<Params, Query, Body> {
  return {
    errorSchema: observatoryError,
    servers: ['/', PREFIX],
    rateLimited: true,
    ...route,
  };
}

/** A success as most endpoints answer it: `{success, message, data}` (spec 2; decisions 5). */
export function wrapped<Data extends z.ZodType>(description: string, data: Data) {
  const schema = z.object({ success: z.literal(true), message: z.string(), data });
  return { description, schema } satisfies RouteResponse;
}

/** An error that a route describes beside those that its access and inputs imply. */
export function refused(description: string): RouteResponse {
  return { description, schema: observatoryError() };
}
