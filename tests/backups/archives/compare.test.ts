import { beforeAll, describe, expect, it } from 'vitest';
import { useArchiveRoutes } from '../../support/archive-routes.ts';
import { createChain } from '../../support/chains.ts';
import { plantBomb } from '../../support/git.ts';

// What changed between two versions, and the files of an older one.

const routes = useArchiveRoutes();
const base = '/api/repos/owner/changing';

interface Compared {
  from: { version: number } | null;
  to: { version: number };
  refs: { added: number; moved: number; removed: number; data: object[]; truncated: boolean };
  commits: Record<
    'added' | 'removed',
    { count: number; data: { subject: string }[]; truncated: boolean }
  >;
  files: { added: number; changed: number; removed: number; data: object[]; truncated: boolean };
}

const compare = async (query = '') => {
  const { status, body } = await routes.client.get(`${base}/compare${query}`);
  return { status, body: body as Compared };
};

beforeAll(async () => {
  const app = await routes.folder.repository('changing');
  const chain = createChain(routes.folder.root, 'owner__changing.bundle', app);
  await app.commit({ 'a.txt': 'one\ntwo\nthree\n', 'src/b.txt': 'b\n', 'gone.txt': 'x' }, 'First');
  await app.git('branch', 'old');
  await chain.version();
  await app.git('rm', '--quiet', 'gone.txt');
  await app.commit(
    { 'a.txt': 'one\n2\nthree\n', 'src/new.txt': 'new\n' },
    'Second ghp_0123456789abcdefghijABCDEFGHIJ456789',
  );
  await app.git('tag', 'v1');
  await app.git('branch', '-D', 'old');
  await chain.version();
  // Rewritten: the second commit is gone.
  await app.git('reset', '--quiet', '--hard', 'HEAD~1');
  await app.commit({ 'pic.bin': 'a\0b', 'a.txt': 'one\ntwo\nthree\n' }, 'Third');
  await chain.version();
}, 120_000);

describe('GET …/compare', () => {
  it('tells what a version changed against the one before it', async () => {
    const { status, body } = await compare('?to=2');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      from: { version: 1, at: '2026-03-01T12:00:00.000Z' },
      to: { version: 2 },
      refs: { added: 1, moved: 1, removed: 1, truncated: false },
      files: {
        ...{ added: 1, changed: 1, removed: 1, truncated: false },
        data: [
          { path: 'a.txt', change: 'changed', type: 'file' },
          { path: 'gone.txt', change: 'removed', type: 'file' },
          { path: 'src/new.txt', change: 'added', type: 'file' },
        ],
      },
    });
    expect(body.refs.data).toMatchObject([
      { name: 'refs/heads/main', change: 'moved' },
      { name: 'refs/heads/old', change: 'removed', to_id: null },
      { name: 'refs/tags/v1', change: 'added', from_id: null },
    ]);
    const { added, removed } = body.commits;
    expect([added.count, removed.count]).toEqual([1, 0]);
    // Without secrets, as wherever commits are shown.
    expect(added.data).toMatchObject([
      { subject: 'Second [redacted]', author: 'Ada', at: '2026-01-02T03:04:05.000Z' },
    ]);
  });

  it('compares the newest version with the one before it by default, and names what was lost', async () => {
    const { body } = await compare();
    expect([body.from?.version, body.to.version]).toEqual([2, 3]);
    expect(body.commits.added.data).toMatchObject([{ subject: 'Third' }]);
    // The tag still leads to the second commit.
    expect(body.commits.removed.count).toBe(0);
    const backwards = (await compare('?from=3&to=1')).body;
    expect(backwards.commits.removed.count).toBe(2);
  });

  it('compares the first version with nothing', async () => {
    const { body } = await compare('?to=1');
    expect(body).toMatchObject({ from: null, files: { added: 3, changed: 0, removed: 0 } });
    expect(body.commits.added.count).toBe(1);
  });

  it('compares the files of a branch that only one of them has', async () => {
    expect((await compare('?from=1&to=2&ref=old')).body.files).toMatchObject({
      added: 0,
      removed: 3,
    });
    expect((await compare('?from=1&to=2&ref=none')).status).toBe(404);
  });

  it('cuts its lists, and still counts', async () => {
    const { body } = await compare('?from=1&to=2&limit=1');
    expect(body.files).toMatchObject({ added: 1, changed: 1, removed: 1, truncated: true });
    expect([body.files.data.length, body.refs.data.length]).toEqual([1, 1]);
    const none = (await compare('?from=1&to=2&limit=0')).body;
    expect([none.commits.added.count, none.commits.added.data]).toEqual([1, []]);
  });

  it('stops at a tree with a billion files', async () => {
    const bomb = await routes.folder.repository('bomb');
    await plantBomb(bomb);
    await createChain(routes.folder.root, 'owner__bomb.bundle', bomb).version();
    const { status, body } = await routes.client.get('/api/repos/owner/bomb/compare?limit=2');
    expect([status, body]).toMatchObject([
      200,
      { files: { added: 100_000, data: [{}, {}], truncated: true } },
    ]);
  });

  it.each([
    ['?to=9', 404],
    ['?from=9', 404],
    ['?to=0', 400],
    ['?to=x', 400],
    ['?from=1&from=2', 400],
    ['?ref=', 400],
    ['?limit=x', 400],
  ])('answers %s with %i', async (query, expected) => {
    expect((await compare(query)).status).toBe(expected);
  });

  it('cannot compare the versions of an old tar.gz, which has none', async () => {
    await routes.folder.write('owner__old.tar.gz', 'x');
    expect((await routes.client.get('/api/repos/owner/old/compare')).status).toBe(409);
  });
});

describe('GET …/compare/file', () => {
  const file = async (query: string) => {
    const { status, body } = await routes.client.get(`${base}/compare/file${query}`);
    return { status, body };
  };

  it('shows the lines that changed', async () => {
    expect(await file('?from=1&to=2&path=a.txt')).toMatchObject({
      status: 200,
      body: {
        ...{ path: 'a.txt', kind: 'text', truncated: false },
        from: { size: 14, mode: '100644', type: 'file' },
        to: { size: 12 },
        diff: '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three',
      },
    });
  });

  it('shows a whole file that is new or gone', async () => {
    expect((await file('?from=1&to=2&path=src/new.txt')).body).toMatchObject({
      ...{ from: null, to: { size: 4 }, diff: '@@ -0,0 +1 @@\n+new' },
    });
    expect((await file('?from=1&to=2&path=gone.txt')).body).toMatchObject({
      to: null,
      kind: 'text',
    });
    expect((await file('?from=1&to=3&path=a.txt')).body).toMatchObject({ kind: 'text', diff: '' });
  });

  it('shows no difference of files that are not text, or too large', async () => {
    expect((await file('?to=3&path=pic.bin')).body).toMatchObject({ kind: 'binary', diff: null });
    const large = await routes.folder.repository('large');
    const chain = createChain(routes.folder.root, 'owner__large.bundle', large);
    await large.commit({ 'l.txt': `${'line\n'.repeat(60_000)}` });
    await chain.version();
    await large.commit({ 'l.txt': 'x'.repeat(2 ** 21 + 1) });
    await chain.version();
    const at = '/api/repos/owner/large/compare/file?path=l.txt';
    expect((await routes.client.get(`${at}&to=2`)).body).toMatchObject({ kind: 'too_large' });
    const { body } = await routes.client.get(`${at}&to=1`);
    expect(body).toMatchObject({ kind: 'text', truncated: true });
    expect((body as { diff: string }).diff.length).toBeLessThanOrEqual(2 ** 18);
  });

  it.each([
    ['?path=none.txt', 404],
    ['?path=src', 404],
    ['?path=', 400],
    ['?path=../x', 400],
    ['?path=/etc/passwd', 400],
  ])('answers %s with %i', async (query, expected) => {
    expect((await file(query)).status).toBe(expected);
  });
});

describe('the files of an older version', () => {
  const archive = (rest: string) => routes.client.get(`${base}/archive${rest}`);
  const paths = async (query: string) => {
    const { body } = await archive(`/files${query}`);
    return (body as { entries: { path: string; type: string }[] }).entries.map(({ path, type }) =>
      type === 'directory' ? `${path}/` : path,
    );
  };

  it('are listed and read as they were', async () => {
    expect(await paths('?version=1')).toEqual(['a.txt', 'gone.txt', 'src/b.txt']);
    expect((await archive('/file?version=1&path=gone.txt')).text).toBe('x');
    expect((await archive('/file?version=2&path=gone.txt')).status).toBe(404);
    expect((await archive('/file?version=2&path=a.txt')).text).toBe('one\n2\nthree\n');
    expect((await archive('/files?version=4')).status).toBe(404);
  });

  it('are listed a folder at a time', async () => {
    expect(await paths('?version=2&folders=true')).toEqual(['a.txt', 'src/']);
    expect(await paths('?version=2&folders=true&path=src/')).toEqual(['src/b.txt', 'src/new.txt']);
    expect(await paths('?version=2&folders=true&path=none/')).toEqual([]);
  });

  it('are those of a branch or tag, if one is named', async () => {
    expect(await paths('?version=1&ref=old')).toEqual(['a.txt', 'gone.txt', 'src/b.txt']);
    expect(await paths('?ref=refs/tags/v1')).toEqual(['a.txt', 'src/b.txt', 'src/new.txt']);
    expect((await archive('/files?version=2&ref=old')).status).toBe(404);
  });
});
