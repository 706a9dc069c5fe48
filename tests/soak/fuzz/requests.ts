import fc from 'fast-check';
import type { Credentials } from './credentials.ts';
import { type SchemaSources, valuesOf } from './from-schema.ts';
import { distortion, hostileMediaType, hostileText } from './hostile.ts';
import type { Operation, Parameter } from './operations.ts';

/** One request in the form in which it is sent. */
export interface FuzzRequest {
  /** The operation that it belongs to; null for one that the document does not describe. */
  operation: string | null;
  method: string;
  /** The path and query as they appear in the request line. */
  target: string;
  headers: Record<string, string>;
  /** Null for no body. */
  body: string | null;
  encoding: 'utf8' | 'latin1';
}

export interface RequestSources extends SchemaSources {
  credentials: Credentials;
  /** A body that the operation accepts, whatever its schema says; null to generate one from the schema. */
  knownBody(operation: Operation): fc.Arbitrary<unknown> | null;
  /** Headers that the operation needs besides its credential. */
  knownHeaders(operation: Operation): fc.Arbitrary<Record<string, string>>;
}

/** Requests of one operation: mostly of the right kind, then distorted. */
export function requestsTo(
  operation: Operation,
  sources: RequestSources,
): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      path: pathOf(operation, sources),
      query: queryOf(operation, sources),
      headers: headersOf(operation, sources),
      body: bodyOf(operation, sources),
    })
    .map(({ path, query, headers, body }) => ({
      operation: operation.name,
      method: operation.method,
      target: `${path}${query}`,
      headers: { ...headers, ...body?.headers },
      body: body?.text ?? null,
      encoding: body?.encoding ?? 'utf8',
    }));
}

const foreignMethods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'QUERY',
];

/** Requests that the document does not describe: other methods, other paths, paths with odd bytes. */
export function foreignRequests(
  operations: readonly Operation[],
  sources: RequestSources,
): fc.Arbitrary<FuzzRequest> {
  const base = fc.constantFrom(...operations.map(({ path }) => path.replaceAll(/\{\w+\}/g, '1')));
  const bytes = fc.oneof(
    hostileText.map(asBytes),
    fc.constantFrom(
      '/',
      '//',
      '/.',
      '/..',
      '/%2e%2e/',
      '/%2f',
      '/%',
      '/%zz',
      '/%00',
      ';a=b',
      '%20',
    ),
  );
  const target = fc.oneof(
    base,
    fc.tuple(base, bytes).map((parts) => parts.join('')),
    fc.tuple(base, bytes).map(([path, more]) => `${path}?${more}`),
    bytes.map((it) => `/${it}`),
    fc
      .tuple(fc.constantFrom('/api/', '/observatory/', '/sessions/', '/reports/'), bytes)
      .map((parts) => parts.join('')),
  );
  return fc.record({
    operation: fc.constant(null),
    method: fc.constantFrom(...foreignMethods),
    target: target.map((it) => it.replaceAll('#', '%23').slice(0, 4_000)),
    headers: fc
      .tuple(sources.credentials.any, strangeHeaders)
      .map(([credential, strange]) => ({ ...strange, ...credential })),
    body: fc.constant(null),
    encoding: fc.constant('utf8' as const),
  });
}

/** Removes what cannot appear in a request line: spaces, control characters, anything beyond Latin-1. */
function asBytes(text: string): string {
  return text.replaceAll(/[^\u0021-\u00ff]/g, (sign) => encodeText(sign));
}

function encodeText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function pathOf(
  { path, parameters, hasPrefix }: Operation,
  sources: SchemaSources,
): fc.Arbitrary<string> {
  const places = parameters.filter((parameter) => parameter.in === 'path');
  const values = places.map((place) =>
    valuesOf(place.schema, sources, `${path}#${place.name}`).map(asPathSegment),
  );
  const prefix = hasPrefix ? fc.constantFrom('', '/observatory') : fc.constant('');
  return fc.tuple(prefix, fc.tuple(...values)).map(([before, segments]) => {
    const left = [...segments];
    return before + path.replaceAll(/\{\w+\}/g, () => left.shift() ?? '');
  });
}

/** Keeps a value a single path segment: an empty one or dots would change the path. */
function asPathSegment(value: unknown): string {
  const text = asText(value).slice(0, 1_000);
  return /^\.{0,2}$/.test(text) ? `~${text}` : encodeText(text);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function queryOf({ parameters }: Operation, sources: SchemaSources): fc.Arbitrary<string> {
  const own = parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => queryParameter(parameter, sources));
  const strange = fc.oneof(
    { weight: 8, arbitrary: fc.constant('') },
    {
      weight: 1,
      arbitrary: fc
        .tuple(hostileText, hostileText)
        .map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`.slice(0, 3_000)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('&&&', '=', '%', 'a=%zz', 'a[]=1&a[b]=2', '?', 'a;b', '%00=%00'),
    },
  );
  return fc.tuple(...own, strange).map((parts) => {
    const query = parts.filter((part) => part !== '').join('&');
    return query === '' ? '' : `?${query}`;
  });
}

function queryParameter(
  { name, schema, ...rest }: Parameter & { required?: boolean },
  sources: SchemaSources,
): fc.Arbitrary<string> {
  const value = valuesOf(schema, sources, name).map((it) => encodeText(asText(it)).slice(0, 3_000));
  const one = value.map((it) => `${name}=${it}`);
  return fc.oneof(
    { weight: 2 * sources.hostileIn, arbitrary: one },
    { weight: rest.required ? 1 : sources.hostileIn, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.tuple(one, one).map((both) => both.join('&')) },
    { weight: 1, arbitrary: fc.constantFrom(name, `${name}=`, `${name}=%`, `${name}[]=1`) },
  );
}

/** Latin-1 without what ends a header. */
const headerText = hostileText.map((text) =>
  text.replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '?').slice(0, 500),
);

const strangeHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          'X-Request-ID',
          'Origin',
          'Accept',
          'Accept-Language',
          'Accept-Encoding',
          'Cookie',
          'If-None-Match',
          'If-Modified-Since',
          'Range',
          'Last-Event-ID',
          'MCP-Protocol-Version',
          'Mcp-Session-Id',
          'X-Client-Address',
          'X-Real-IP',
          'X-Http-Method-Override',
          'Forwarded',
        ),
        headerText,
      )
      .map(([name, value]) => ({ [name]: value })),
  },
);

function headersOf(
  operation: Operation,
  { credentials, knownHeaders, ...sources }: RequestSources,
): fc.Arbitrary<Record<string, string>> {
  const own = operation.parameters
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, schema }) =>
      fc.oneof(
        { weight: 2, arbitrary: fc.constant({}) },
        {
          weight: 1,
          arbitrary: valuesOf(schema, sources, name).map((value) => ({
            [name]: asText(value)
              .replaceAll(/[^\u0020-\u007e]/g, '?')
              .slice(0, 200),
          })),
        },
      ),
    );
  const credential = fc.oneof(
    { weight: 8, arbitrary: credentials.rightFor(operation) },
    { weight: 2, arbitrary: credentials.any },
  );
  return fc
    .tuple(knownHeaders(operation), fc.tuple(...own), strangeHeaders, credential)
    .map(([needed, mine, strange, access]) => Object.assign({}, needed, ...mine, strange, access));
}

interface Body {
  headers: Record<string, string>;
  text: string;
  encoding: FuzzRequest['encoding'];
}

function bodyOf(operation: Operation, sources: RequestSources): fc.Arbitrary<Body | null> {
  const { body } = operation;
  if (!body) {
    return fc.oneof<fc.MaybeWeightedArbitrary<Body | null>[]>(
      { weight: 15, arbitrary: fc.constant(null) },
      {
        weight: 1,
        arbitrary: hostileText.map((text) => ({ headers: {}, text, encoding: 'utf8' })),
      },
    );
  }
  const write = body.mediaType === 'application/json' ? writeJson : writeForm;
  const value = sources.knownBody(operation) ?? valuesOf(body.schema, sources);
  const text = fc.oneof(
    { weight: 9, arbitrary: value.map((it) => ({ text: write(it), encoding: 'utf8' as const })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(value, distortion)
        .map(([it, distort]) => ({ text: distort(write(it)), encoding: 'latin1' as const })),
    },
  );
  const type = fc.oneof(
    { weight: 19, arbitrary: fc.constant(body.mediaType) },
    { weight: 1, arbitrary: hostileMediaType },
  );
  return fc
    .tuple(text, type)
    .map(([written, mediaType]) => ({ ...written, headers: { 'Content-Type': mediaType } }));
}

function writeJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function writeForm(value: unknown): string {
  const fields = Object.entries(Object(value)).flatMap(([name, item]) =>
    [item].flat().map((it) => `${encodeText(name)}=${encodeText(asText(it))}`),
  );
  return fields.join('&');
}
