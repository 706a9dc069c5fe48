import type { Context } from 'hono';
import type { AppError } from '../platform/errors.ts';
import {
  type DescribeError,
  describeErrorHead,
  type ErrorAnswer,
} from '../platform/http/error-response.ts';

type SuccessStatus = 200 | 201;

/** Answers a success: `{success: true, message, data}` (spec 2, What the service does). */
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

/** The error envelope of the observatory (spec 2, Error envelope; decisions 5). */
export const describeObservatoryError: DescribeError = (error, requestId): ErrorAnswer => ({
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

/** The request id has a field of its own, so a failure's text is fixed (spec 2, Errors, 500). */
function messageOf({ code, message }: AppError): string {
  return code === 'INTERNAL_ERROR' ? 'Internal server error' : message;
}
