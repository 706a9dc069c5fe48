import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  openDatabaseSource,
  openRemoteSource,
  type TestSource,
} from '../support/backup-sources.ts';
import { sql } from '../support/records.ts';

let opened: TestSource;
const { signal } = new AbortController();

beforeAll(async () => {
  opened = await openDatabaseSource();
  await sql(
    opened.database.db,
    `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
     VALUES ('Owner/App', 'owner__app.bundle', 'abc'), ('owner/bare', NULL, NULL),
       ('OWNER/APP', 'other.bundle', 'def')`,
  );
});
afterAll(() => opened.close());

it('findArchive ignores letter case but prefers the exact name', async () => {
  const { source } = opened;
  const app = { archive_key: 'owner__app.bundle', archive_sha256: 'abc' };
  expect(await source.findArchive('Owner/App', signal)).toEqual(app);
  expect(await source.findArchive('OWNER/APP', signal)).toMatchObject({ archive_sha256: 'def' });
  expect(await source.findArchive('Owner/Bare', signal)).toEqual({
    archive_key: '',
    archive_sha256: '',
  });
  expect(await source.findArchive('owner/_pp', signal)).toBeNull();
});

it('findArchive returns null if the table is missing', async () => {
  const bare = await openDatabaseSource({ migrated: false });
  expect(await bare.source.findArchive('owner/app', signal)).toBeNull();
  await bare.close();
});

it('findArchive returns null without a database', async () => {
  const remote = await openRemoteSource();
  expect(await remote.source.findArchive('owner/app', signal)).toBeNull();
  await remote.close();
});
