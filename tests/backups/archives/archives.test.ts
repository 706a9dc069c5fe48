import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { createServedArchives } from '../../../lib/backups/archives/served-archives.ts';
import { at, useArchiveRoutes } from '../../support/archive-routes.ts';
import { makeTarball, sha256 } from '../../support/archives.ts';

import { createClient } from '../../support/client.ts';
import { feedGit } from '../../support/git.ts';

// Descriptions and checks of archives made by the worker and by git.

const routes = useArchiveRoutes();

describe('GET /api/archive-folder', () => {
  it('says where the archives are, and how much room their disk has', async () => {
    const { status, body } = await routes.client.get('/api/archive-folder');
    const { total_disk_bytes, available_disk_bytes } = body as Record<string, number>;
    expect([status, body]).toEqual([
      200,
      { archive_path: routes.folder.root, total_disk_bytes, available_disk_bytes },
    ]);
    expect(total_disk_bytes).toBeGreaterThanOrEqual(available_disk_bytes ?? Number.NaN);
  });

  it('responds with 503 if this server has no archives, or their folder is missing', async () => {
    const { db } = routes;
    const none = await createClient({ db, archives: null }).get('/api/archive-folder');
    expect(none.status).toBe(503);
    const config = { BACKUP_ARCHIVE_PATH: join(routes.folder.root, 'gone') };
    const gone = await createClient({
      db,
      environment: config,
      archives: createServedArchives,
    }).get('/api/archive-folder');
    expect([gone.status, JSON.stringify(gone.body)]).toEqual([
      503,
      expect.not.stringContaining(routes.folder.root),
    ]);
  });
});

describe('GET …/archive', () => {
  it("returns what is recorded about the worker's archive, and its header", async () => {
    const bytes = await routes.downloaded();
    const { status, body } = await routes.client.get(at());
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
            { name: 'refs/heads/main', id: routes.commit },
            { name: 'refs/tags/v1', id: routes.commit },
          ]),
        },
        fault: null,
      },
    ]);
  });

  it('lists 100 refs and counts all of them', async () => {
    const many = await routes.folder.repository('many');
    const id = await many.commit({ a: 'a' });
    const tags = Array.from({ length: 120 }, (_, n) => `create refs/tags/t${n} ${id}\n`);
    await feedGit(many.path, ['update-ref', '--stdin'], tags.join(''));
    await routes.folder.bundle('owner__many.bundle', many);
    const { body } = await routes.client.get(at('', 'owner/many'));
    const { bundle } = body as { bundle: { refs: unknown[]; ref_count: number } };
    expect([bundle.refs.length, bundle.ref_count]).toEqual([100, 122]);
    expect((await routes.verify('owner/many')).body).toMatchObject({
      truncated: true,
      ref_count: 122,
    });
  });

  it('returns no contents for a tar.gz', async () => {
    await routes.folder.write('owner__tar.tar.gz', await makeTarball([{ name: 'a.txt' }, 'a']));
    expect((await routes.client.get(at('', 'owner/tar'))).body).toMatchObject({
      format: 'tar.gz',
      recorded_sha256: null,
      recorded_by: null,
      bundle: null,
      fault: null,
    });
  });

  it('explains why the header of a bundle cannot be read', async () => {
    await routes.folder.write('owner__broken.bundle', 'no bundle');
    expect((await routes.client.get(at('', 'owner/broken'))).body).toMatchObject({
      bundle: null,
      fault: expect.stringContaining('CORRUPT_ARCHIVE'),
    });
  });

  it('answers 404 for a repository without an archive', async () => {
    for (const rest of ['', '/files', '/file?path=a', '/bundle']) {
      expect((await routes.client.get(at(rest, 'owner/none'))).status).toBe(404);
    }
    expect((await routes.verify('owner/none')).status).toBe(404);
  });

  it.each([
    'owner/a%2Fb',
    'a%5Cb/c',
    '%2E%2E%2Fx/c',
    'owner/a%00',
    '%0a/c',
    `owner/${'n'.repeat(256)}`,
  ])('rejects the name %s', async (name) => {
    for (const rest of ['', '/files', '/file?path=a', '/bundle']) {
      expect((await routes.client.get(at(rest, name))).status).toBe(400);
    }
    expect((await routes.verify(name)).status).toBe(400);
  });
});

describe('POST …/archive/verify', () => {
  it("proves the worker's archive", async () => {
    const digest = sha256(await routes.downloaded());
    const { status, body } = await routes.verify();
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
        refs: expect.arrayContaining([{ name: 'refs/heads/main', commit: routes.commit }]),
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

  it('returns each check of a damaged archive', async () => {
    const bytes = Buffer.from(await routes.downloaded());
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    await routes.folder.write('owner__damaged.bundle', bytes);
    const { status, body } = await routes.verify('owner/damaged');
    expect([status, body]).toMatchObject([
      200,
      {
        integrity_status: 'CORRUPT_ARCHIVE',
        proof: { checksum: 'not_recorded', header: 'passed' },
        fault: expect.stringContaining('owner__damaged.bundle'),
      },
    ]);
  });

  it('detects an archive that is not the recorded one', async () => {
    const other = await routes.folder.repository('other');
    await other.commit({ a: 'a' });
    await routes.folder.bundle('owner__other.bundle', other);
    await routes.db.query(
      {
        text: `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
          VALUES ('owner/other', 'owner__other.bundle', $1)`,
      },
      ['0'.repeat(64)],
    );
    expect((await routes.verify('owner/other')).body).toMatchObject({
      integrity_status: 'CHECKSUM_MISMATCH',
      expected_sha256: '0'.repeat(64),
      proof: { checksum: 'failed', objects: 'passed' },
    });
  });

  it('lets the checks of one caller wait for each other', async () => {
    const answers = await Promise.all([routes.verify(), routes.verify(), routes.verify()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('the archive routes', () => {
  const paths = ['', '/files', '/file?path=a', '/bundle'];

  it('explain that a server has no archives', async () => {
    const hosted = createClient({ db: routes.db });
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

  it('name a missing folder by its variable, not by its path', async () => {
    const missing = createClient({
      db: routes.db,
      environment: { BACKUP_ARCHIVE_PATH: join(routes.folder.outside, 'none') },
      archives: createServedArchives,
    });
    for (const rest of paths) {
      const { status, text } = await missing.get(at(rest));
      expect(status).toBe(503);
      expect(text).toContain('BACKUP_ARCHIVE_PATH');
      expect(text).not.toContain(routes.folder.outside);
    }
  });
});
