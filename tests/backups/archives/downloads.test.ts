import { createHash } from 'node:crypto';
import { symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ArchiveDownload } from '../../../lib/archives/plain-archives.ts';
import { createBackupsApp } from '../../../lib/backups/app.ts';
import { createServedArchives } from '../../../lib/backups/archives/served-archives.ts';
import { systemClock } from '../../../lib/clock.ts';
import { serveNode } from '../../../lib/http/server/serve.ts';
import { at, useArchiveRoutes } from '../../support/archive-routes.ts';
import { sha256 } from '../../support/archives.ts';
import { createChain } from '../../support/chains.ts';
import { waitFor } from '../../support/chat.ts';
import { createClient } from '../../support/client.ts';
import { silentLog } from '../../support/databases.ts';
import { createTestDeps, withSecret } from '../../support/deps.ts';

// Downloads of whole archives.

const routes = useArchiveRoutes();

describe('GET …/archive/bundle', () => {
  it('sends an archive that git can clone', async () => {
    const { status, bytes, headers } = await routes.client.get(at('/bundle'));
    expect(status).toBe(200);
    expect(headers.get('content-length')).toBe(String(bytes.length));
    expect(headers.get('content-disposition')).toContain('filename="local__app.bundle"');
    expect(headers.get('content-type')).toBe('application/octet-stream');
    const copy = await routes.folder.repository('copy');
    await routes.folder.write('../copy.bundle', bytes);
    await copy.git('fetch', '--quiet', join(routes.folder.root, '../copy.bundle'), 'main');
    expect(await copy.git('rev-parse', 'FETCH_HEAD')).toBe(routes.commit);
  });

  it('does not follow links that lead outside of the folder', async () => {
    const secret = join(routes.folder.outside, 'secret.bundle');
    await routes.folder.write('../outside/secret.bundle', 'a secret');
    await symlink(secret, join(routes.folder.root, 'owner__linked.bundle'));
    const { status, text } = await routes.client.get(at('/bundle', 'owner/linked'));
    expect(status).toBe(404);
    expect(text).not.toContain('a secret');
  });

  it('sends no other file of the folder, whatever name is recorded', async () => {
    await routes.folder.write('../outside/secret.bundle', 'a secret');
    for (const [name, key] of [
      ['owner/up', '../outside/secret.bundle'],
      ['owner/absolute', join(routes.folder.outside, 'secret.bundle')],
      ['owner/note', 'local__app.bundle.json'],
    ]) {
      const text = 'INSERT INTO worker_repo_state (repo_full_name, archive_key) VALUES ($1, $2)';
      await routes.db.query({ text }, [name ?? '', key ?? '']);
      expect([name, (await routes.client.get(at('/bundle', name))).status]).toEqual([name, 404]);
    }
  });

  it('closes the file after HEAD, and returns its size', async () => {
    const closed: boolean[] = [];
    const watched = createClient({
      db: routes.db,
      environment: { BACKUP_ARCHIVE_PATH: routes.folder.root, PATH: process.env.PATH },
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
    expect(Number(headers.get('content-length'))).toBe((await routes.downloaded()).length);
    expect(closed).toEqual([true]);
  });

  it('sends each file of an archive that other bundles continue', async () => {
    const app = await routes.folder.repository('chain');
    const chain = createChain(routes.folder.root, 'owner__chain.bundle', app);
    for (const text of ['one', 'two', 'three']) {
      await app.commit({ 'a.txt': text });
      await chain.version();
    }
    const { body } = await routes.client.get(at('', 'owner/chain'));
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
      const { bytes } = await routes.client.get(at(`/bundle?file=${name}`, 'owner/chain'));
      expect([bytes.length, sha256(bytes)]).toEqual([size_bytes, digest]);
    }
    expect(sha256((await routes.client.get(at('/bundle', 'owner/chain'))).bytes)).toBe(
      files[0]?.sha256,
    );
    expect((await routes.verify('owner/chain')).body).toMatchObject({
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
      expect([name, (await routes.client.get(asked)).status]).toEqual([name, 404]);
    }
  });

  it('closes the file when the client disconnects', async () => {
    await routes.folder.write('owner__long.bundle', '');
    await truncate(join(routes.folder.root, 'owner__long.bundle'), 2 ** 30);
    const opened: ArchiveDownload[] = [];
    const deps = createTestDeps({
      db: routes.db,
      environment: { BACKUP_ARCHIVE_PATH: routes.folder.root },
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

  it('aborts if it cannot send as much as it announced', async () => {
    const archives = createServedArchives(routes.client.deps);
    await routes.folder.write('owner__cut.bundle', 'x'.repeat(2 ** 20));
    const call = { signal: new AbortController().signal };
    const opened = await archives.download('owner/cut', undefined, call);
    const reader = opened.stream().getReader();
    const hash = createHash('sha256').update((await reader.read()).value ?? '');
    expect(hash.digest('hex')).toBe(sha256(Buffer.from('x'.repeat(2 ** 18))));
    await truncate(join(routes.folder.root, 'owner__cut.bundle'), 2 ** 18);
    await expect(reader.read()).rejects.toThrow('became shorter');
  });
});
