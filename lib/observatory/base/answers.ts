import type { Context } from 'hono';
import * as z from 'zod';
import type { AppError } from '../../errors.ts';
import {
  type DescribeError,
  describeErrorHead,
  type ErrorResponse,
} from '../../http/error-response.ts';
import { observatoryError } from '../../http/error-shapes.ts';
import type { RouteResponse } from '../../http/route.ts';

/** Every path of the observatory also works with this prefix. */
export const PREFIX = '/observatory';

/** Shared by the declarations of all routes of the observatory. */
export const observatoryRoute = {
  errorSchema: observatoryError,
  servers: ['/', PREFIX],
} as const;

/** Describes a success in the usual form: `{success, message, data}`. */
export function wrapped<Data extends z.ZodType>(description: string, data: Data) {
  const schema = z.object({ success: z.literal(true), message: z.string(), data });
  return { description, schema } satisfies RouteResponse;
}

/** Describes an error that does not follow from the access or the inputs of the route. */
export function refused(description: string): RouteResponse {
  return { description, schema: observatoryError };
}

type SuccessStatus = 200 | 201;

/** Sends a success: `{success: true, message, data}`. */
export function sendData(
  c: Context,
  message: string,
  data: unknown,
  status: SuccessStatus = 200,
): Response {
  return c.json({ success: true, message, data }, status);
}

/** Like `sendData`, for data that Postgres returned as JSON text. */
export function sendJsonData(
  c: Context,
  message: string,
  data: string,
  status: SuccessStatus = 200,
): Response {
  const body = `{"success":true,"message":${JSON.stringify(message)},"data":${data}}`;
  return c.body(body, status, { 'Content-Type': 'application/json' });
}

/** The error body of the observatory. */
export const describeObservatoryError: DescribeError = (error, requestId): ErrorResponse => ({
  ...describeErrorHead(error),
  body: {
    success: false,
    error: {
      code: error.code === 'MALFORMED_ID' ? 'VALIDATION_ERROR' : error.code,
      message: shownMessage(error),
      ...(error.details.length > 0 ? { details: error.details } : {}),
    },
    request_id: requestId,
    ...error.fields,
  },
});

/** The message of an internal error is fixed, because the request id has its own field. */
function shownMessage({ code, message }: AppError): string {
  return code === 'INTERNAL_ERROR' ? 'Internal server error' : message;
}
