import { describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { createSurface, protect } from '../../lib/http/surface.ts';
import { createTestDeps, withSecret } from '../support/deps.ts';

type Headers = Record<string, string>;

function createApp(environment: Environment = {}) {
  const deps = createTestDeps({ environment: { API_REQUIRE_AUTH: 'false', ...environment } });
  const app = createSurface(deps);
  app.use('/api/*', ...protect(deps));
  app.all('/api/things', (c) => c.text('things'));
  const send = (method: string, headers: Headers = {}, peer = '192.0.2.1') =>
    app.request(
      '/api/things',
      { method, headers: { Host: 'backups.example', ...headers } },
      { incoming: { socket: { remoteAddress: peer } } },
    );
  const status = async (...request: Parameters<typeof send>) => (await send(...request)).status;
  return { send, status };
}

const site = (value: string): Headers => ({ 'Sec-Fetch-Site': value });
const origin = (value: string): Headers => ({ Origin: value });
const navigation = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
const foreignPages: [string, Headers][] = [
  ['of another site', site('cross-site')],
  ['of another site, in another letter case', site('Cross-Site')],
  ['of another site that opens it', { ...site('cross-site'), ...navigation }],
  ['of another origin', origin('https://evil.example')],
  ['of another port', { ...site('same-site'), ...origin('http://backups.example:3000') }],
  ['of another name of the same owner', site('same-site')],
  ['without an origin, such as a file or a sandbox', origin('null')],
  ['of a host whose name only starts the same', origin('https://backups.example.evil.example')],
  [
    'of a host that claims to be forwarded',
    {
      ...origin('https://evil.example'),
      'X-Forwarded-Host': 'evil.example',
    },
  ],
];

describe.each(foreignPages)('a page %s', (_name, headers) => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('must not send a %s', async (method) => {
    const response = await createApp().send(method, { ...headers, 'X-Request-ID': 'mine' });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      error: expect.stringMatching(/^requests from pages of other origins are not allowed/),
      request_id: 'mine',
    });
  });

  it('is rejected before the rate limit counts it', async () => {
    const { status } = createApp();
    for (let n = 0; n < 150; n += 1) expect(await status('POST', headers)).toBe(403);
    for (let n = 0; n < 100; n += 1) expect(await status('POST')).toBe(200);
    expect(await status('POST')).toBe(429);
  });

  it('is rejected even with the secret, which a proxy may have added', async () => {
    const forwarded = { ...headers, ...withSecret, 'X-Forwarded-Host': 'dashboard.example' };
    expect(await createApp().status('POST', forwarded)).toBe(403);
  });
});

describe('a page of the server behind a proxy', () => {
  const rejection = async (headers: Headers, environment: Environment = {}) => {
    const response = await createApp(environment).send('POST', headers);
    return ((await response.json()) as { error: string }).error;
  };

  it.each([
    ['replaces Host', 'http://nas', '127.0.0.1:8080'],
    ['drops the port of Host', 'http://nas:8081', 'nas'],
  ])('that %s is told so, and which line mends it', async (_what, Origin, Host) => {
    const text = await rejection({ Origin, Host });
    expect(text).toContain(`the page is at ${Origin}, but the request was sent to ${Host}.`);
    expect(text).toContain('nginx: proxy_set_header Host $http_host;');
  });

  it('is told nothing of the kind if the browser says that it is of another site', async () => {
    const text = await rejection({ Origin: 'https://evil.example', ...site('cross-site') });
    expect(text).toBe('requests from pages of other origins are not allowed');
  });

  it('gets a short answer without control characters, whatever it sends', async () => {
    const text = await rejection({
      Origin: `http://${'a'.repeat(5_000)}`,
      Host: `${'b'.repeat(5_000)}\u009b`,
    });
    expect(text.length).toBeLessThan(1_000);
    expect(text).not.toMatch(/\p{Cc}/u);
  });
});

describe('a page of the server itself', () => {
  it.each<[string, Headers]>([
    ['by its origin', origin('https://backups.example')],
    [
      'by its origin with the default port',
      { ...origin('https://backups.example'), Host: 'backups.example:443' },
    ],
    ['by an origin with a port', { ...origin('http://localhost:8080'), Host: 'LOCALHOST:8080' }],
    [
      'by Sec-Fetch-Site, behind a proxy that replaces Host',
      { ...site('same-origin'), ...origin('https://public.example') },
    ],
    ['by a typed address', site('none')],
  ])('may send a POST, recognized %s', async (_name, headers) => {
    expect(await createApp().status('POST', headers)).toBe(200);
  });

  it('is recognized by the Host that a trusted proxy forwards', async () => {
    const headers = { ...origin('https://public.example'), 'X-Forwarded-Host': 'public.example' };
    const { status } = createApp({ TRUSTED_PROXIES: '10.0.0.1' });
    expect(await status('POST', headers, '10.0.0.1')).toBe(200);
    expect(await status('POST', headers, '10.0.0.2')).toBe(403);
    expect(await status('POST', { ...headers, ...withSecret }, '10.0.0.2')).toBe(200);
  });
});

describe('a program', () => {
  it.each<[string, Headers]>([
    ['without either header', {}],
    ['with an origin that is not a web page', origin('vscode-file://vscode-app')],
  ])('may send a POST %s', async (_name, headers) => {
    expect(await createApp().status('POST', headers)).toBe(200);
  });
});

describe('a GET for a page of another site', () => {
  const image = { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' };

  it.each<[string, Headers, number]>([
    ['an image', image, 403],
    ['a fetch by a script', { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' }, 403],
    ['a frame', { ...navigation, 'Sec-Fetch-Dest': 'iframe' }, 403],
    ['a followed link', navigation, 200],
    ['a WebSocket handshake', { 'Sec-Fetch-Mode': 'websocket', Upgrade: 'websocket' }, 200],
  ])('as %s gets the right status', async (_name, headers, expected) => {
    expect(await createApp().status('GET', { ...site('cross-site'), ...headers })).toBe(expected);
  });

  it.each<[string, Headers]>([
    ['an image', { ...site('cross-site'), ...image }],
    ['a link', { ...site('cross-site'), ...navigation }],
    ['a page of another port', { ...site('same-site'), ...image }],
    ['a request with only an origin', origin('https://evil.example')],
  ])("as %s does not use up the visitor's limit", async (_name, headers) => {
    const { status } = createApp();
    for (let n = 0; n < 150; n += 1) await status('GET', headers);
    for (let n = 0; n < 100; n += 1) expect(await status('GET')).toBe(200);
  });

  it('is rate limited even if allowed', async () => {
    const { status } = createApp();
    const headers = { ...site('cross-site'), ...navigation };
    for (let n = 0; n < 100; n += 1) expect(await status('GET', headers)).toBe(200);
    expect(await status('GET', headers)).toBe(429);
  });
});
