import type { Context } from 'hono';
import * as z from 'zod';
import type { AppError } from '../errors.ts';
import {
  type DescribeError,
  describeErrorHead,
  type ErrorResponse,
} from '../http/error-response.ts';
import { observatoryError } from '../http/error-shapes.ts';
import type { RouteResponse } from '../http/route.ts';

/** Every path of the observatory also answers with this in front. */
export const PREFIX = '/observatory';

/** What the declarations of the observatory's routes share. */
export const observatoryRoute = {
  errorSchema: observatoryError,
  servers: ['/', PREFIX],
  rateLimited: true,
} as const;

/** Describes a success as most endpoints answer it: `{success, message, data}`. */
export function wrapped<Data extends z.ZodType>(description: string, data: Data) {
  const schema = z.object({ success: z.literal(true), message: z.string(), data });
  return { description, schema } satisfies RouteResponse;
}

/** Describes an error beside those that a route's access and inputs imply. */
export function refused(description: string): RouteResponse {
  return { description, schema: observatoryError };
}

type SuccessStatus = 200 | 201;

/** Answers a success: `{success: true, message, data}`. */
export function sendData(
  c: Context,
  message: string,
  data: unknown,
  status: SuccessStatus = 200,
): Response {
  return c.json({ success: true, message, data }, status);
}

/** The same with data that Postgres has written as JSON. */
export function sendJsonData(
  c: Context,
  message: string,
  data: string,
  status: SuccessStatus = 200,
): Response {
  const body = `{"success":true,"message":${JSON.stringify(message)},"data":${data}}`;
  return c.body(body, status, { 'Content-Type': 'application/json' });
}

/** The error envelope of the observatory. */
export const describeObservatoryError: DescribeError = (error, requestId): ErrorResponse => ({
  ...describeErrorHead(error),
  body: {
    success: false,
    error: {
      code: error.code === 'MALFORMED_ID' ? 'VALIDATION_ERROR' : error.code,
      message: messageOf(error),
      ...(error.details.length > 0 ? { details: error.details } : {}),
    },
    request_id: requestId,
    ...error.fields,
  },
});

/** The request id has a field of its own, so a failure's text is fixed. */
function messageOf({ code, message }: AppError): string {
  return code === 'INTERNAL_ERROR' ? 'Internal server error' : message;
}
