import { describe, expect, it } from 'vitest';
import { at, SCRIPT, SECRET, useArchiveRoutes } from '../../support/archive-routes.ts';
import { makeTarball } from '../../support/archives.ts';

// Files inside an archive made by the worker.

const routes = useArchiveRoutes();

describe('GET …/archive/files', () => {
  const names = async (query: string, repository?: string) => {
    const { status, body } = await routes.client.get(at(`/files${query}`, repository));
    const { entries = [], next } = body as { entries?: { path: string }[]; next?: string | null };
    return { status, paths: entries.map(({ path }) => path), next };
  };

  it('lists the files of the default branch', async () => {
    expect(await names('')).toEqual({
      status: 200,
      paths: ['README.md', 'large.bin', 'src/näme "x".txt', 'src/page.html', 'src/token.txt'].sort(
        (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
      ),
      next: null,
    });
    expect((await names('?path=src/p')).paths).toEqual(['src/page.html']);
  });

  it.each([
    ['a bundle', 'local/App', 5],
    ['a tar.gz', 'owner/tarred', 5],
  ])('pages through %s, listing each file once', async (_name, repository, count) => {
    const entries = ['a', 'b', 'c', 'd', 'e'].map((name) => [{ name }, name] as const);
    await routes.folder.write(
      'owner__tarred.tar.gz',
      await makeTarball(...entries.map(([a, b]) => [a, b] as [typeof a, typeof b])),
    );
    const all = (await names('', repository)).paths;
    const found: string[] = [];
    let cursor: string | null | undefined = '0';
    while (cursor) {
      const part = await names(`?limit=2&cursor=${cursor}`, repository);
      expect(part.paths.length).toBeLessThanOrEqual(2);
      found.push(...part.paths);
      cursor = part.next;
    }
    expect(found).toEqual(all);
    expect(found).toHaveLength(count);
    expect(await names('?cursor=999', repository)).toMatchObject({ paths: [], next: null });
  });

  it.each(['?cursor=x', '?cursor=-1', '?path=a%00', '?limit=x', `?path=${'a'.repeat(4097)}`])(
    'rejects %s',
    async (query) => {
      expect((await names(query)).status).toBe(400);
    },
  );

  it('answers 409 for a damaged archive', async () => {
    await routes.folder.write('owner__broken.bundle', 'no bundle');
    const { status, body } = await routes.client.get(at('/files', 'owner/broken'));
    expect([status, body]).toMatchObject([
      409,
      { error: expect.stringMatching(/^CORRUPT_ARCHIVE: /) },
    ]);
  });
});

describe('GET …/archive/file', () => {
  const file = (path: string, repository?: string) =>
    routes.client.get(at(`/file?path=${encodeURIComponent(path)}`, repository));

  it('sends the archived bytes, secrets included', async () => {
    const { status, text, headers } = await file('src/token.txt');
    expect([status, text]).toEqual([200, SECRET]);
    expect(headers.get('content-length')).toBe(String(SECRET.length));
  });

  it('sends an HTML page as a download that no browser runs', async () => {
    const { text, headers } = await file('src/page.html');
    expect(text).toBe(SCRIPT);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="page.html"; filename*=UTF-8''page.html`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });

  it('sends any file name, with an ASCII fallback', async () => {
    const { headers } = await file('src/näme "x".txt');
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="n_me _x_.txt"; filename*=UTF-8''n%C3%A4me%20%22x%22.txt`,
    );
  });

  it('reads a file of a tar.gz', async () => {
    await routes.folder.write('owner__tar.tar.gz', await makeTarball([{ name: 'a.txt' }, 'a\0b']));
    expect((await file('a.txt', 'owner/tar')).bytes).toEqual(new Uint8Array(Buffer.from('a\0b')));
  });

  it.each([
    ['none.txt', 404],
    ['large.bin', 413],
    ['src', 400],
    ['../etc/passwd', 400],
    ['/etc/passwd', 400],
    ['src\\page.html', 400],
    ['', 400],
  ])('answers the path %j with %i, as JSON', async (path, expected) => {
    const { status, body } = await file(path);
    expect([status, body]).toMatchObject([expected, { error: expect.any(String) }]);
  });

  it('reads 4 archives at a time for each caller, and tells others when to retry', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => file('README.md')));
    const counts = Map.groupBy(answers, ({ status }) => status);
    expect([counts.get(200)?.length, counts.get(429)?.length]).toEqual([4, 2]);
    expect((await file('README.md')).status).toBe(200);
  });

  it('reports the maximum size of a file that is too large', async () => {
    expect((await file('large.bin')).body).toMatchObject({
      error: expect.stringContaining('at most 10485760'),
    });
  });
});
