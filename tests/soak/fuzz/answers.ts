import { isDeepStrictEqual } from 'node:util';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApi, Operation } from './operations.ts';
import type { FuzzRequest } from './requests.ts';
import type { FuzzAnswer } from './send.ts';

/** Throws an Error that explains how a response violates the document. */
export type CheckAnswer = (request: FuzzRequest, answer: FuzzAnswer) => void;

/**
 * Validates answers against the document: status, content type, headers and body. Also checks what holds for every
 * answer: no server error except a described 503, and a request id.
 */
export function createAnswerCheck(
  document: OpenApi,
  operations: ReadonlyMap<string, Operation>,
): CheckAnswer {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addSchema({ ...document, $id: 'openapi' } as never, undefined, undefined, false);
  const compiled = new Map<string, ValidateFunction>();

  /** The check of one place of the document, compiled once. */
  function at(...place: string[]): ValidateFunction {
    const pointer = place
      .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#/${pointer}` });
    compiled.set(pointer, validate);
    return validate;
  }

  return (request, answer) => {
    checkRequestId(request, answer);
    const operation = request.operation === null ? null : operations.get(request.operation);
    const mayBeUnavailable = operation?.responses[503] !== undefined;
    if (answer.status >= 500 && !(answer.status === 503 && mayBeUnavailable)) {
      throw new Error(`answered ${answer.status}: ${answer.text}`);
    }
    if (!operation) return checkForeign(request, answer, at);
    const described = operation.responses[answer.status];
    if (!described) {
      throw new Error(`answered ${answer.status}, which is not described: ${answer.text}`);
    }
    const place = ['paths', operation.path, operation.method.toLowerCase(), 'responses'];
    for (const [name, header] of Object.entries(described.headers ?? {})) {
      const path = header.$ref
        ? header.$ref.slice(2).split('/')
        : [...place, String(answer.status), 'headers', name];
      requireFit(at(...path, 'schema'), answer.headers[name.toLowerCase()], `header ${name}`);
    }
    if (described.content === undefined || Object.keys(described.content).length === 0) {
      if (answer.text !== '')
        throw new Error(`answered a body that is not described: ${answer.text}`);
      return;
    }
    const type = mediaTypeOf(answer);
    if (!(type in described.content)) throw new Error(`answered with Content-Type ${type}`);
    const content = [...place, String(answer.status), 'content', type, 'schema'];
    const body = type === 'application/json' ? parse(answer.text) : answer.text;
    requireFit(at(...content), body, 'body');
  };
}

/** Holds for any request: a refusal is one of the two error bodies, and names the allowed methods if it is a 405. */
function checkForeign(
  request: FuzzRequest,
  answer: FuzzAnswer,
  at: (...place: string[]) => ValidateFunction,
): void {
  if (answer.status < 400 || request.method === 'HEAD') return;
  if (answer.status === 405 && !answer.headers.allow) throw new Error('answered 405 without Allow');
  const type = mediaTypeOf(answer);
  if (type !== 'application/json') throw new Error(`answered an error with Content-Type ${type}`);
  const body = parse(answer.text);
  const shapes = ['Error', 'ErrorEnvelope', 'ObservatoryError', 'JsonRpcError'];
  const fits = shapes.some((name) => at('components', 'schemas', name)(body));
  if (!fits) throw new Error(`answered an error of no known shape: ${answer.text}`);
}

function checkRequestId(request: FuzzRequest, { headers, text, status }: FuzzAnswer): void {
  const id = headers['x-request-id'];
  if (id === undefined || !/^[A-Za-z0-9._-]{1,64}$/.test(id)) {
    throw new Error(`answered with the request id ${id}`);
  }
  const given = request.headers['X-Request-ID'];
  // Headers that are too large are not read completely.
  const isRead = status !== 431;
  if (isRead && given !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(given) && given !== id) {
    throw new Error(`answered with the request id ${id} instead of the one that was sent`);
  }
  if (status < 400 || request.method === 'HEAD') return;
  // The protocol's own errors have no field for it.
  const body = parse(text) as { request_id?: unknown; error?: { request_id?: unknown } };
  const named = body.request_id ?? body.error?.request_id ?? id;
  if (!isDeepStrictEqual(named, id))
    throw new Error(`the body names the request ${named}, not ${id}`);
}

function mediaTypeOf({ headers }: FuzzAnswer): string {
  return (headers['content-type'] ?? 'none').split(';')[0] ?? '';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`answered a body that is not JSON: ${text.slice(0, 500)}`);
  }
}

function requireFit(validate: ValidateFunction, value: unknown, what: string): void {
  if (validate(value)) return;
  const faults = (validate.errors ?? []).map(
    ({ instancePath, message, params }: ErrorObject) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  throw new Error(
    `the ${what} does not match the schema: ${faults.join('; ')} in ${String(JSON.stringify(value)).slice(0, 2_000)}`,
  );
}
