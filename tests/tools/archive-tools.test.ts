import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolHandles } from '../../lib/tools/index.ts';
import { type ArchiveFolder, createArchiveFolder, sha256 } from '../support/archives.ts';
import { openDatabaseSource, type TestSource } from '../support/backup-sources.ts';
import { sql } from '../support/records.ts';
import { answerOf, createTestHandles, faultOf } from '../support/tools.ts';

// The three tools over the real reader, whose records come from the data source. What the reader makes of
// damaged and hostile archives is tested with lib/archives.

let folder: ArchiveFolder;
let opened: TestSource;
let handles: ToolHandles;
let bytes: Buffer;
let commit: string;
const repo_name = 'Owner/App';

beforeAll(async () => {
  folder = await createArchiveFolder();
  opened = await openDatabaseSource();
  const { source } = opened;
  const archives = folder.reader({
    findRecord: (name, signal) => source.findArchive(name, signal),
  });
  handles = createTestHandles({ archives });
  const repository = await folder.repository('app');
  commit = await repository.commit({ 'README.md': 'hello', 'src/a.ts': 'a', 'src/b.ts': 'bb' });
  bytes = await folder.bundle('kept-elsewhere.bundle', repository);
  await sql(
    opened.database.db,
    `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
     VALUES ('owner/app', 'kept-elsewhere.bundle', $1)`,
    [sha256(bytes)],
  );
});
afterAll(async () => {
  await opened.close();
  await folder.remove();
});

describe('the archive tools', () => {
  it('verify_archive_integrity proves the archive that the database names', async () => {
    expect(await answerOf(handles, 'verify_archive_integrity', { repo_name })).toEqual({
      repository: repo_name,
      archive: 'kept-elsewhere.bundle',
      format: 'bundle',
      resolved_by: 'worker_repo_state',
      archive_size_bytes: bytes.length,
      sha256_checksum: sha256(bytes),
      expected_sha256: sha256(bytes),
      refs: [
        { name: 'refs/heads/main', commit },
        { name: 'HEAD', commit },
      ],
      pack_verified: true,
      integrity_status: 'VALID_UNCOMPROMISED',
      proof: {
        checksum: 'passed',
        header: 'passed',
        pack_checksum: 'passed',
        objects: 'passed',
        history: 'passed',
      },
    });
  });

  it('verify_archive_integrity fails when the recorded SHA-256 is another', async () => {
    await sql(
      opened.database.db,
      `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
       VALUES ('owner/changed', 'kept-elsewhere.bundle', repeat('0', 64))`,
    );
    const given = { repo_name: 'owner/changed' };
    expect(await faultOf(handles, 'verify_archive_integrity', given)).toMatch(/^CHECKSUM_MISMATCH/);
  });

  it('inspect_archive_contents lists paths with a prefix, up to the limit', async () => {
    const given = { repo_name, prefix: 'src/', limit: '1' };
    expect(await answerOf(handles, 'inspect_archive_contents', given)).toMatchObject({
      repository: repo_name,
      archive: 'kept-elsewhere.bundle',
      format: 'bundle',
      entries: [{ path: 'src/a.ts', size: 1, mode: '100644', type: 'file' }],
      returned: 1,
      truncated: true,
    });
    expect(await answerOf(handles, 'inspect_archive_contents', { repo_name })).toMatchObject({
      truncated: false,
    });
  });

  it('extract_backup_file answers one file', async () => {
    const given = { repo_name, file_path: 'README.md' };
    expect(await answerOf(handles, 'extract_backup_file', given)).toEqual({
      repository: repo_name,
      archive: 'kept-elsewhere.bundle',
      path: 'README.md',
      size: 5,
      encoding: 'utf-8',
      content: 'hello',
    });
  });

  it.each(['../README.md', 'src/../README.md', 'a..b', '/README.md', 'src\\a.ts', 'a\0b', ''])(
    'extract_backup_file refuses the path %j',
    async (file_path) => {
      expect(await faultOf(handles, 'extract_backup_file', { repo_name, file_path })).toMatch(
        /file_path/,
      );
    },
  );

  it('a repository without an archive is a tool error', async () => {
    for (const name of ['verify_archive_integrity', 'inspect_archive_contents']) {
      expect(await faultOf(handles, name, { repo_name: 'owner/none' })).toContain('owner/none');
    }
  });
});
