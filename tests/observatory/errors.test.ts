import { describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { AppError, type ErrorCode } from '../../lib/errors.ts';
import { describeObservatoryError } from '../../lib/observatory/base/answers.ts';
import { createTestDeps } from '../support/deps.ts';
import { createObservatoryClient } from '../support/observatory-client.ts';

describe('an error of the observatory', () => {
  it.each<[ErrorCode, number]>([
    ['BAD_REQUEST', 400],
    ['VALIDATION_ERROR', 400],
    ['MODEL_NOT_ALLOWED', 400],
    ['GATEWAY_EXCHANGE_FAILED', 400],
    ['RECIPIENT_NOT_ALLOWED', 400],
    ['UNKNOWN_REPORT_TYPE', 400],
    ['UNAUTHORIZED', 401],
    ['GATEWAY_OUT_OF_CREDITS', 402],
    ['GATEWAY_KEY_INVALID', 403],
    ['CONFIRMATION_REQUIRED', 403],
    ['NOT_FOUND', 404],
    ['CONFLICT', 409],
    ['LOGIN_LOCKED', 429],
    ['GATEWAY_RATE_LIMITED', 429],
    ['GATEWAY_EXCHANGE_UNAVAILABLE', 502],
    ['EMAIL_DELIVERY_FAILED', 502],
    ['GATEWAY_BAD_REQUEST', 502],
    ['GATEWAY_ERROR', 502],
    ['GATEWAY_UNAVAILABLE', 502],
    ['CREDENTIAL_STORAGE_UNAVAILABLE', 503],
    ['SERVICE_UNAVAILABLE', 503],
    ['MODEL_REGISTRY_UNAVAILABLE', 503],
    ['GATEWAY_NOT_CONFIGURED', 503],
    ['DEADLINE_EXCEEDED', 504],
  ])('with code %s has status %i and the envelope', (code, status) => {
    const answer = describeObservatoryError(new AppError(code, 'what is wrong'), 'r-1');
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({
      success: false,
      error: { code, message: 'what is wrong' },
      request_id: 'r-1',
    });
  });

  it('is VALIDATION_ERROR with status 422 for a malformed id', () => {
    const details = [{ path: 'session_id', message: 'must be a UUID' }];
    const answer = describeObservatoryError(new AppError('MALFORMED_ID', 'x', { details }), 'r-1');
    expect(answer).toMatchObject({
      status: 422,
      body: { error: { code: 'VALIDATION_ERROR', details } },
    });
  });
});

it('an unexpected failure is answered with a fixed text and the request id, and logged with its cause', async () => {
  const db: Database = {
    ...createTestDeps().db,
    query: async () => {
      throw new Error('column "hunter2" does not exist');
    },
  };
  const { get, deps } = createObservatoryClient({ db });
  const answer = await get('/sessions', { headers: { 'X-Request-ID': 'mine-7' } });
  expect(answer.status).toBe(500);
  expect(answer.headers.get('x-request-id')).toBe('mine-7');
  expect(answer.body).toEqual({
    success: false,
    error: { code: 'INTERNAL_ERROR', message: 'Internal server error' },
    request_id: 'mine-7',
  });
  expect(deps.logged).toContainEqual(
    expect.objectContaining({
      level: 'error',
      request_id: 'mine-7',
      error: expect.objectContaining({ message: 'column "hunter2" does not exist' }),
    }),
  );
});
