import { createHash } from 'node:crypto';
import { symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ArchiveDownload } from '../../../lib/archives/plain-archives.ts';
import { createBackupsApp } from '../../../lib/backups/app.ts';
import { createServedArchives } from '../../../lib/backups/archives/served-archives.ts';
import { systemClock } from '../../../lib/clock.ts';
import { serveNode } from '../../../lib/http/serve.ts';
import {
  type ArchiveFolder,
  createArchiveFolder,
  makeTarball,
  sha256,
} from '../../support/archives.ts';
import { createChain } from '../../support/chains.ts';
import { waitFor } from '../../support/chat.ts';
import { type Client, createClient } from '../../support/client.ts';
import { createPostgres, silentLog, type TestDatabase } from '../../support/databases.ts';
import { createTestDeps, withSecret } from '../../support/deps.ts';
import { callWorker } from '../../support/worker.ts';

// The archive routes, with archives that the worker and git made.

const SECRET = 'ghp_0123456789abcdefghijABCDEFGHIJ456789';
const page = '<script>alert(1)</script>';

let database: TestDatabase;
let folder: ArchiveFolder;
let client: Client;
let commit: string;

beforeAll(async () => {
  database = await createPostgres();
  folder = await createArchiveFolder();
  client = createClient({
    db: database.db,
    environment: { BACKUP_ARCHIVE_PATH: folder.root, PATH: process.env.PATH },
    archives: createServedArchives,
  });
  const app = await folder.repository('App');
  commit = await app.commit({
    'README.md': 'hello\n',
    'src/page.html': page,
    'src/token.txt': SECRET,
    'src/näme "x".txt': 'odd',
    'large.bin': 'x'.repeat(10 * 2 ** 20 + 1),
  });
  await app.git('tag', 'v1');
  const args = ['run', '--source', app.path];
  const { code } = await callWorker({ databaseUrl: database.url, archives: folder.root, args });
  expect(code).toBe(0);
});
afterAll(async () => {
  await database.close();
  await folder.remove();
});

const at = (rest = '', repository = 'local/App') => `/api/repos/${repository}/archive${rest}`;
const verify = (repository?: string) => client.post(at('/verify', repository), undefined);

/** The archive that the worker made. */
async function downloaded(): Promise<Uint8Array> {
  return (await client.get(at('/bundle'))).bytes;
}

describe('GET …/archive', () => {
  it('tells what is recorded about the archive of the worker, and its header', async () => {
    const bytes = await downloaded();
    const { status, body } = await client.get(at());
    expect([status, body]).toEqual([
      200,
      {
        repository: 'local/App',
        archive: 'local__app.bundle',
        format: 'bundle',
        resolved_by: 'worker_repo_state',
        archive_size_bytes: bytes.length,
        modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        recorded_sha256: sha256(bytes),
        recorded_by: 'database',
        files: [{ name: 'local__app.bundle', size_bytes: bytes.length, sha256: sha256(bytes) }],
        bundle: {
          object_format: 'sha1',
          objects: expect.any(Number),
          complete: true,
          ref_count: expect.any(Number),
          refs: expect.arrayContaining([
            { name: 'refs/heads/main', id: commit },
            { name: 'refs/tags/v1', id: commit },
          ]),
        },
        fault: null,
      },
    ]);
  });

  it('lists 100 refs and counts all', async () => {
    const many = await folder.repository('many');
    const id = await many.commit({ a: 'a' });
    for (let count = 0; count < 120; count++) await many.git('tag', `t${count}`, id);
    await folder.bundle('owner__many.bundle', many);
    const { body } = await client.get(at('', 'owner/many'));
    const { bundle } = body as { bundle: { refs: unknown[]; ref_count: number } };
    expect([bundle.refs.length, bundle.ref_count]).toEqual([100, 122]);
    expect((await verify('owner/many')).body).toMatchObject({ truncated: true, ref_count: 122 });
  });

  it('knows nothing of the inside of a tar.gz', async () => {
    await folder.write('owner__tar.tar.gz', await makeTarball([{ name: 'a.txt' }, 'a']));
    expect((await client.get(at('', 'owner/tar'))).body).toMatchObject({
      format: 'tar.gz',
      recorded_sha256: null,
      recorded_by: null,
      bundle: null,
      fault: null,
    });
  });

  it('says why the header of a bundle cannot be read', async () => {
    await folder.write('owner__broken.bundle', 'no bundle');
    expect((await client.get(at('', 'owner/broken'))).body).toMatchObject({
      bundle: null,
      fault: expect.stringContaining('CORRUPT_ARCHIVE'),
    });
  });

  it('answers 404 for a repository without an archive', async () => {
    for (const rest of ['', '/files', '/file?path=a', '/bundle']) {
      expect((await client.get(at(rest, 'owner/none'))).status).toBe(404);
    }
    expect((await verify('owner/none')).status).toBe(404);
  });

  it.each([
    'owner/a%2Fb',
    'a%5Cb/c',
    '%2E%2E%2Fx/c',
    'owner/a%00',
    '%0a/c',
    `owner/${'n'.repeat(201)}`,
  ])('rejects the name %s', async (name) => {
    for (const rest of ['', '/files', '/file?path=a', '/bundle']) {
      expect((await client.get(at(rest, name))).status).toBe(400);
    }
    expect((await verify(name)).status).toBe(400);
  });
});

describe('POST …/archive/verify', () => {
  it('proves the archive of the worker', async () => {
    const digest = sha256(await downloaded());
    const { status, body } = await verify();
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        integrity_status: 'VALID_UNCOMPROMISED',
        sha256_checksum: digest,
        expected_sha256: digest,
        expected_by: 'database',
        pack_verified: true,
        fault: null,
        truncated: false,
        refs: expect.arrayContaining([{ name: 'refs/heads/main', commit }]),
        proof: {
          checksum: 'passed',
          header: 'passed',
          pack_checksum: 'passed',
          objects: 'passed',
          history: 'passed',
        },
      }),
    ]);
  });

  it('tells each check of a damaged archive', async () => {
    const bytes = Buffer.from(await downloaded());
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    await folder.write('owner__damaged.bundle', bytes);
    const { status, body } = await verify('owner/damaged');
    expect([status, body]).toMatchObject([
      200,
      {
        integrity_status: 'CORRUPT_ARCHIVE',
        proof: { checksum: 'not_recorded', header: 'passed' },
        fault: expect.stringContaining('owner__damaged.bundle'),
      },
    ]);
  });

  it('tells an archive that is not the recorded one', async () => {
    const other = await folder.repository('other');
    await other.commit({ a: 'a' });
    await folder.bundle('owner__other.bundle', other);
    await database.db.query(
      {
        text: `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
          VALUES ('owner/other', 'owner__other.bundle', $1)`,
      },
      ['0'.repeat(64)],
    );
    expect((await verify('owner/other')).body).toMatchObject({
      integrity_status: 'CHECKSUM_MISMATCH',
      expected_sha256: '0'.repeat(64),
      proof: { checksum: 'failed', objects: 'passed' },
    });
  });

  it('verifies one archive at a time, and says when to try again', async () => {
    const answers = await Promise.all([verify(), verify(), verify()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await verify()).status).toBe(200);
  });
});

describe('GET …/archive/files', () => {
  const names = async (query: string, repository?: string) => {
    const { status, body } = await client.get(at(`/files${query}`, repository));
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
  ])('goes on after a page of %s, to each file once', async (_name, repository, count) => {
    const entries = ['a', 'b', 'c', 'd', 'e'].map((name) => [{ name }, name] as const);
    await folder.write(
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
    await folder.write('owner__broken.bundle', 'no bundle');
    const { status, body } = await client.get(at('/files', 'owner/broken'));
    expect([status, body]).toMatchObject([
      409,
      { error: expect.stringMatching(/^CORRUPT_ARCHIVE: /) },
    ]);
  });
});

describe('GET …/archive/file', () => {
  const file = (path: string, repository?: string) =>
    client.get(at(`/file?path=${encodeURIComponent(path)}`, repository));

  it('sends the bytes as they are, secrets included', async () => {
    const { status, text, headers } = await file('src/token.txt');
    expect([status, text]).toEqual([200, SECRET]);
    expect(headers.get('content-length')).toBe(String(SECRET.length));
  });

  it('sends a page as a download that runs nowhere', async () => {
    const { text, headers } = await file('src/page.html');
    expect(text).toBe(page);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="page.html"; filename*=UTF-8''page.html`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });

  it('gives any name, also in ASCII', async () => {
    const { headers } = await file('src/näme "x".txt');
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="n_me _x_.txt"; filename*=UTF-8''n%C3%A4me%20%22x%22.txt`,
    );
  });

  it('reads a file of a tar.gz', async () => {
    await folder.write('owner__tar.tar.gz', await makeTarball([{ name: 'a.txt' }, 'a\0b']));
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
  ])('answers for %j with %i, as JSON', async (path, expected) => {
    const { status, body } = await file(path);
    expect([status, body]).toMatchObject([expected, { error: expect.any(String) }]);
  });

  it('reads 4 archives of a caller at a time, and says when to try again', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => file('README.md')));
    const counts = Map.groupBy(answers, ({ status }) => status);
    expect([counts.get(200)?.length, counts.get(429)?.length]).toEqual([4, 2]);
    expect((await file('README.md')).status).toBe(200);
  });

  it('says how large a file may be', async () => {
    expect((await file('large.bin')).body).toMatchObject({
      error: expect.stringContaining('at most 10485760'),
    });
  });
});

describe('GET …/archive/bundle', () => {
  it('sends the archive, which git clones', async () => {
    const { status, bytes, headers } = await client.get(at('/bundle'));
    expect(status).toBe(200);
    expect(headers.get('content-length')).toBe(String(bytes.length));
    expect(headers.get('content-disposition')).toContain('filename="local__app.bundle"');
    expect(headers.get('content-type')).toBe('application/octet-stream');
    const copy = await folder.repository('copy');
    await folder.write('../copy.bundle', bytes);
    await copy.git('fetch', '--quiet', join(folder.root, '../copy.bundle'), 'main');
    expect(await copy.git('rev-parse', 'FETCH_HEAD')).toBe(commit);
  });

  it('sends nothing that a link outside of the folder leads to', async () => {
    const secret = join(folder.outside, 'secret.bundle');
    await folder.write('../outside/secret.bundle', 'a secret');
    await symlink(secret, join(folder.root, 'owner__linked.bundle'));
    const { status, text } = await client.get(at('/bundle', 'owner/linked'));
    expect(status).toBe(404);
    expect(text).not.toContain('a secret');
  });

  it('sends no other file of the folder, whatever the record names', async () => {
    await folder.write('../outside/secret.bundle', 'a secret');
    for (const [name, key] of [
      ['owner/up', '../outside/secret.bundle'],
      ['owner/absolute', join(folder.outside, 'secret.bundle')],
      ['owner/note', 'local__app.bundle.json'],
    ]) {
      const text = 'INSERT INTO worker_repo_state (repo_full_name, archive_key) VALUES ($1, $2)';
      await database.db.query({ text }, [name ?? '', key ?? '']);
      expect([name, (await client.get(at('/bundle', name))).status]).toEqual([name, 404]);
    }
  });

  it('closes the file after HEAD, and tells its size', async () => {
    const closed: boolean[] = [];
    const watched = createClient({
      db: database.db,
      environment: { BACKUP_ARCHIVE_PATH: folder.root, PATH: process.env.PATH },
      archives(deps) {
        const archives = createServedArchives(deps);
        return {
          ...archives,
          async download(...asked) {
            const opened = await archives.download(...asked);
            return {
              ...opened,
              async close() {
                await opened.close();
                // Reading fails now.
                closed.push(
                  await new Response(opened.stream()).text().then(
                    () => false,
                    () => true,
                  ),
                );
              },
            };
          },
        };
      },
    });
    const { status, headers, text } = await watched.send('HEAD', at('/bundle'));
    expect([status, text]).toEqual([200, '']);
    expect(Number(headers.get('content-length'))).toBe((await downloaded()).length);
    expect(closed).toEqual([true]);
  });

  it('sends each file of an archive that others continue', async () => {
    const app = await folder.repository('chain');
    const chain = createChain(folder.root, 'owner__chain.bundle', app);
    for (const text of ['one', 'two', 'three']) {
      await app.commit({ 'a.txt': text });
      await chain.version();
    }
    const { body } = await client.get(at('', 'owner/chain'));
    const { files, bundle } = body as {
      files: { name: string; size_bytes: number; sha256: string }[];
      bundle: { refs: unknown; complete: boolean };
    };
    expect(files.map(({ name }) => name)).toEqual([
      'owner__chain.bundle',
      'owner__chain.1.bundle',
      'owner__chain.2.bundle',
    ]);
    const head = await app.git('rev-parse', 'main');
    expect(bundle).toMatchObject({
      complete: true,
      refs: [
        { name: 'refs/heads/main', id: head },
        { name: 'HEAD', id: head },
      ],
    });
    for (const { name, size_bytes, sha256: digest } of files) {
      const { bytes } = await client.get(at(`/bundle?file=${name}`, 'owner/chain'));
      expect([bytes.length, sha256(bytes)]).toEqual([size_bytes, digest]);
    }
    expect(sha256((await client.get(at('/bundle', 'owner/chain'))).bytes)).toBe(files[0]?.sha256);
    expect((await verify('owner/chain')).body).toMatchObject({
      files: 3,
      integrity_status: 'VALID_UNCOMPROMISED',
    });
    for (const name of [
      'owner__chain.3.bundle',
      'owner__chain.bundle.json',
      '../x',
      'owner__tar.tar.gz',
    ]) {
      const asked = at(`/bundle?file=${encodeURIComponent(name)}`, 'owner/chain');
      expect([name, (await client.get(asked)).status]).toEqual([name, 404]);
    }
  });

  it('closes the file when the client leaves', async () => {
    await folder.write('owner__long.bundle', '');
    await truncate(join(folder.root, 'owner__long.bundle'), 2 ** 30);
    const opened: ArchiveDownload[] = [];
    const deps = createTestDeps({
      db: database.db,
      environment: { BACKUP_ARCHIVE_PATH: folder.root },
    });
    const archives = createServedArchives(deps);
    const app = createBackupsApp(deps, {
      archives: {
        ...archives,
        async download(...asked) {
          const download = await archives.download(...asked);
          opened.push(download);
          return download;
        },
      },
    });
    const server = await serveNode({
      fetch: app.fetch,
      host: '127.0.0.1',
      port: 0,
      log: silentLog,
      clock: systemClock,
    });
    const leaving = new AbortController();
    const { signal } = leaving;
    const address = `${server.url}${at('/bundle', 'owner/long')}`;
    const response = await fetch(address, { headers: withSecret, signal });
    expect(response.headers.get('content-length')).toBe(String(2 ** 30));
    await response.body?.getReader().read();
    leaving.abort();
    const isClosed = () =>
      opened[0]
        ?.stream()
        .getReader()
        .read()
        .then(
          () => false,
          () => true,
        );
    await waitFor(isClosed, 'the file to be closed');
    await server.close();
  });

  it('fails instead of sending less than it announced', async () => {
    const archives = createServedArchives(client.deps);
    await folder.write('owner__cut.bundle', 'x'.repeat(2 ** 20));
    const call = { signal: new AbortController().signal };
    const opened = await archives.download('owner/cut', undefined, call);
    const reader = opened.stream().getReader();
    const hash = createHash('sha256').update((await reader.read()).value ?? '');
    expect(hash.digest('hex')).toBe(sha256(Buffer.from('x'.repeat(2 ** 18))));
    await truncate(join(folder.root, 'owner__cut.bundle'), 2 ** 18);
    await expect(reader.read()).rejects.toThrow('became shorter');
  });
});

describe('without archives', () => {
  const paths = ['', '/files', '/file?path=a', '/bundle'];

  it('a server that has none says so', async () => {
    const hosted = createClient({ db: database.db });
    for (const rest of paths) {
      const { status, body } = await hosted.get(at(rest));
      expect([rest, status, body]).toMatchObject([
        rest,
        503,
        { message: expect.stringContaining('the archives are not on this server') },
      ]);
    }
    expect((await hosted.post(at('/verify'), undefined)).status).toBe(503);
  });

  it('a missing folder is named by its variable, not by its path', async () => {
    const missing = createClient({
      db: database.db,
      environment: { BACKUP_ARCHIVE_PATH: join(folder.outside, 'none') },
      archives: createServedArchives,
    });
    for (const rest of paths) {
      const { status, text } = await missing.get(at(rest));
      expect(status).toBe(503);
      expect(text).toContain('BACKUP_ARCHIVE_PATH');
      expect(text).not.toContain(folder.outside);
    }
  });
});
