import fc from 'fast-check';
import { TEST_SECRET } from '../../support/deps.ts';
import { TEST_TOKEN } from '../../support/mcp.ts';

/** The bytes of a connection, as Latin-1, and how a client sends them. */
export interface RawConversation {
  bytes: string;
  /** Where the bytes are cut into writes, as fractions of their length. */
  cuts: number[];
  /** What the client does afterwards: it closes its side, or the whole connection. */
  ending: 'half-close' | 'destroy';
}

const secret = `X-Internal-Secret: ${TEST_SECRET}`;
const mcp = `Authorization: Bearer ${TEST_TOKEN}`;
const json = 'Content-Type: application/json';
const handshake =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

const requestLines = fc.constantFrom(
  'GET /health HTTP/1.1',
  'GET /api/backups?limit=1 HTTP/1.1',
  'POST /mcp HTTP/1.1',
  'POST /auth/login HTTP/1.1',
  'GET /ws/live HTTP/1.1',
  'HEAD /api/repos HTTP/1.1',
  'GET /health HTTP/1.0',
  'GET /health HTTP/0.9',
  'GET /health HTTP/1.2',
  'GET /health HTTP/2.0',
  'GET /health HTTP/9999999999.1',
  'GET /health http/1.1',
  'GET /health',
  'GET  /health  HTTP/1.1',
  'GET\t/health\tHTTP/1.1',
  ' GET /health HTTP/1.1',
  '\r\n\r\nGET /health HTTP/1.1',
  'get /health HTTP/1.1',
  'G\u00cbT /health HTTP/1.1',
  'POST /health\r HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'GET * HTTP/1.1',
  'CONNECT a.example:443 HTTP/1.1',
  'GET http://a.example/health HTTP/1.1',
  'GET ftp://a.example/health HTTP/1.1',
  'GET http://a:b@[::1]:99999/health HTTP/1.1',
  'GET //a.example/health HTTP/1.1',
  'GET /%00%ff%zz?%=%&&==\u00e9 HTTP/1.1',
  'GET /../../etc/passwd HTTP/1.1',
  'GET /health#fragment HTTP/1.1',
  'PRI * HTTP/2.0\r\n\r\nSM',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  `GET /${'a'.repeat(17_000)} HTTP/1.1`,
  `${'A'.repeat(40_000)} / HTTP/1.1`,
);

const headers = fc.constantFrom(
  'Host: localhost',
  'Host: localhost',
  'Host: localhost',
  'Host:',
  'Host: a b',
  'Host: a.example\r\nHost: b.example',
  'Host: [::1',
  'Host: \u00ff',
  secret,
  secret,
  mcp,
  json,
  'Accept: application/json, text/event-stream',
  handshake,
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 99',
  'Upgrade: websocket, websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: \x01',
  'Upgrade: \x7f\r\nConnection: upgrade',
  'Connection: close',
  'Connection: keep-alive, close, Host, X-Internal-Secret',
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 2000000',
  'Content-Length: -1',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 0x5',
  'Content-Length: 99999999999999999999999',
  'Content-Length: 1\r\nContent-Length: 2',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Expect: 100-continue',
  'Expect: \x80',
  'TE: trailers',
  'Trailer: Content-Length',
  'no colon here',
  ': no name',
  'Spaced : x',
  'Folded: a\r\n b\r\n\tc',
  'Bare: a\rb',
  'Nul: a\0b',
  'Line: a\nInjected: b',
  'X-Request-ID: \x01\x02',
  'X-Forwarded-For: not an address,,,, [::1]:x, 999.1.1.1',
  `Cookie: ${'a=b; '.repeat(1_500)}`,
  `X-Long: ${'x'.repeat(20_000)}`,
  Array.from({ length: 3_000 }, (_, index) => `X-${index}: y`).join('\r\n'),
  Array.from({ length: 1_500 }, () => 'A:').join('\r\n'),
);

const bodies = fc.constantFrom(
  '',
  '',
  'hello',
  'username=ada&password=x',
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\nContent-Length: 9\r\nX: \0\r\n\r\n',
  '5;ext=1\r\nhello\r\n0\r\n\r\n',
  `5;${'e'.repeat(40_000)}\r\nhello\r\n0\r\n\r\n`,
  'zz\r\nhello\r\n0\r\n\r\n',
  '-5\r\nhello\r\n0\r\n\r\n',
  '0x5\r\nhello\r\n0\r\n\r\n',
  'ffffffffffffffff\r\nhello\r\n',
  '10000000000000000000000\r\nhello',
  '5\r\nhelloworld\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  '5\r\nhel',
  '1\r\n\xff\r\n2\r\n\xc0\x80\r\n0\r\n\r\n',
  `200000\r\n${'x'.repeat(2_097_152)}\r\n0\r\n\r\n`,
  `186a0\r\n${'['.repeat(100_000)}\r\n0\r\n\r\n`,
  '{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
  '\x81\x05hello',
  '\x88\x82\x00\x00\x00\x00\x03\xe8',
  'GET /health HTTP/1.1\r\nHost: smuggled\r\n\r\n',
);

const request = fc
  .tuple(
    requestLines,
    fc.array(headers, { maxLength: 6 }),
    fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
    bodies,
  )
  .map(([line, lines, end, body]) => `${[line, ...lines].join('\r\n')}${end}${end}${body}`);

const garbage = fc
  .uint8Array({ maxLength: 400 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));

/** One request or several in a row: complete, cut short, or with something inserted. */
const bytes = fc.oneof(
  { weight: 6, arbitrary: request },
  {
    weight: 2,
    arbitrary: fc.array(request, { minLength: 2, maxLength: 5 }).map((it) => it.join('')),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(request, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([text, share]) => text.slice(0, Math.floor(text.length * share))),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(request, fc.double({ min: 0, max: 1, noNaN: true }), garbage)
      .map(([text, share, more]) => {
        const at = Math.floor(text.length * share);
        return text.slice(0, at) + more + text.slice(at);
      }),
  },
  { weight: 1, arbitrary: garbage },
);

/** What a client may do to a server with a socket. */
export const conversations: fc.Arbitrary<RawConversation> = fc.record({
  bytes,
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  ending: fc.constantFrom('half-close', 'half-close', 'half-close', 'destroy'),
});
