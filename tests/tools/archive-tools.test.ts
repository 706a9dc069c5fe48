import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { MAX_ANSWER_CHARS } from '../../lib/tools/answer-budget.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { type ArchiveFolder, createArchiveFolder, sha256 } from '../support/archives.ts';
import { openDatabaseSource, type TestSource } from '../support/backup-sources.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, createTestToolDeps, faultOf } from '../support/tools.ts';

// The three tools with the real reader, whose records come from the data source. How the reader handles damaged and
// hostile archives is tested with lib/archives.

let folder: ArchiveFolder;
let opened: TestSource;
let deps: ToolDeps;
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
  deps = createTestToolDeps({ archives, backups: source });
  const repository = await folder.repository('app');
  commit = await repository.commit({
    'README.md': 'hello',
    'src/a.ts': 'a',
    'src/b.ts': 'bb',
    'long.txt': '123456789\n'.repeat(9_000),
  });
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
  it.each([
    ['readme.md', '"README.md"'],
    ['src/README.md', '"README.md"'],
    ['a.ts', '"src/a.ts"'],
    ['src/c.ts', '"src/a.ts" or "src/b.ts"'],
    ['src/a.tsx', '"src/a.ts" or "src/b.ts"'],
    ['lonh.txt', '"long.txt"'],
  ])(
    'extract_backup_file names what resembles %s, and the tool that lists paths',
    async (path, near) => {
      const folder = path.slice(0, path.lastIndexOf('/') + 1);
      const prefix = folder === '' ? '' : `, for example with prefix "${folder}"`;
      expect(await faultOf(deps, 'extract_backup_file', { repo_name, file_path: path })).toBe(
        `the archive has no file "${path}"; did you mean ${near}? inspect_archive_contents lists the paths${prefix}`,
      );
    },
  );

  it('extract_backup_file names the tool that lists paths if nothing resembles the path', async () => {
    const given = { repo_name, file_path: 'something/entirely/different' };
    expect(await faultOf(deps, 'extract_backup_file', given)).toBe(
      'the archive has no file "something/entirely/different". inspect_archive_contents lists the paths, for example with prefix "something/entirely/"',
    );
  });

  it('extract_backup_file removes secrets from a file once, in however many parts it is read', async () => {
    let searched = 0;
    const { countedInSteps } = createRedactor([]);
    const archives = folder.reader({
      findRecord: (name, signal) => opened.source.findArchive(name, signal),
      redactor: {
        countedInSteps(value) {
          searched++;
          return countedInSteps(value);
        },
      },
    });
    const own = createTestToolDeps({ archives, backups: opened.source });
    const ask = { repo_name, file_path: 'long.txt' };
    const lines = new Set<string>();
    for (let start_line: number | undefined = 1; start_line !== undefined; ) {
      const part = await answerOf(own, 'extract_backup_file', { ...ask, start_line });
      lines.add(`${part.content}`);
      const [, next] = /start_line (\d+)/.exec(`${part.more}`) ?? [];
      start_line = next === undefined ? undefined : Number(next);
    }
    expect([...lines].join('')).toBe('123456789\n'.repeat(9_000));
    expect(lines.size).toBeGreaterThanOrEqual(1);
    expect(searched).toBe(1);
  });

  it('verify_archive_integrity proves the archive that the database names', async () => {
    expect(await answerOf(deps, 'verify_archive_integrity', { repo_name })).toEqual({
      repository: repo_name,
      archive: 'kept-elsewhere.bundle',
      format: 'bundle',
      resolved_by: 'worker_repo_state',
      archive_size_bytes: bytes.length,
      sha256_checksum: sha256(bytes),
      expected_sha256: sha256(bytes),
      expected_by: 'database',
      files: 1,
      refs: [
        { name: 'refs/heads/main', commit },
        { name: 'HEAD', commit },
      ],
      ref_count: 2,
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

  it('verify_archive_integrity fails when the recorded SHA-256 differs', async () => {
    await sql(
      opened.database.db,
      `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
       VALUES ('owner/changed', 'kept-elsewhere.bundle', repeat('0', 64))`,
    );
    const given = { repo_name: 'owner/changed' };
    expect(await faultOf(deps, 'verify_archive_integrity', given)).toMatch(/^CHECKSUM_MISMATCH/);
  });

  it('inspect_archive_contents lists paths with a prefix, up to the limit', async () => {
    const given = { repo_name, prefix: 'src/', limit: '1' };
    expect(await answerOf(deps, 'inspect_archive_contents', given)).toMatchObject({
      repository: repo_name,
      archive: 'kept-elsewhere.bundle',
      format: 'bundle',
      entries: [{ path: 'src/a.ts', size: 1, mode: '100644', type: 'file' }],
      returned: 1,
      truncated: true,
    });
    expect(await answerOf(deps, 'inspect_archive_contents', { repo_name })).toMatchObject({
      truncated: false,
    });
  });

  it('extract_backup_file returns one file', async () => {
    const given = { repo_name, file_path: 'README.md' };
    expect(await answerOf(deps, 'extract_backup_file', given)).toEqual({
      repository: repo_name,
      archive: 'kept-elsewhere.bundle',
      path: 'README.md',
      size: 5,
      encoding: 'utf-8',
      bytes: { offset: 0, length: 5, total: 5 },
      lines: { start: 1, end: 1, total: 1 },
      truncated: false,
      content: 'hello',
    });
  });

  it('extract_backup_file returns a range of bytes or lines', async () => {
    const given = { repo_name, file_path: 'README.md' };
    const bytes = { ...given, offset: 1, length: '3' };
    expect(await answerOf(deps, 'extract_backup_file', bytes)).toMatchObject({
      content: 'ell',
      bytes: { offset: 1, length: 3, total: 5 },
    });
    const lines = { ...given, start_line: 1, end_line: 9 };
    expect(await answerOf(deps, 'extract_backup_file', lines)).toMatchObject({
      content: 'hello',
      lines: { start: 1, end: 1, total: 1 },
    });
  });

  it.each([
    [{ offset: -1 }, 'offset'],
    [{ length: 0 }, 'length'],
    [{ start_line: 0 }, 'start_line'],
    [{ end_line: 1.5 }, 'end_line'],
    [{ offset: 0, end_line: 1 }, 'not both'],
    [{ start_line: 3, end_line: 2 }, 'end_line is before start_line'],
    [{ offset: 6 }, 'offset 6 is past the end'],
  ])('extract_backup_file rejects the range %j', async (range, fault) => {
    const given = { repo_name, file_path: 'README.md', ...range };
    expect(await faultOf(deps, 'extract_backup_file', given)).toContain(fault);
  });

  it('extract_backup_file returns the start of a file that is too long for an answer', async () => {
    const given = { repo_name, file_path: 'long.txt' };
    const answer = await answerOf(deps, 'extract_backup_file', given);
    expect(answer).toMatchObject({ size: 90_000, truncated: true, lines: { start: 1 } });
    expect(answer.more).toMatch(/^lines \d+ to 9000 are missing: call again with start_line \d+$/);
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
  });

  it('inspect_archive_contents rejects a prefix with NUL', async () => {
    const given = { repo_name, prefix: 'src\0' };
    expect(await faultOf(deps, 'inspect_archive_contents', given)).toContain('prefix');
  });

  it.each(['../README.md', 'src/../README.md', 'a..b', '/README.md', 'src\\a.ts', 'a\0b', ''])(
    'extract_backup_file rejects the path %j',
    async (file_path) => {
      expect(await faultOf(deps, 'extract_backup_file', { repo_name, file_path })).toMatch(
        /file_path/,
      );
    },
  );

  it.each(['verify_archive_integrity', 'inspect_archive_contents', 'extract_backup_file'])(
    '%s suggests similar names for an unknown repository',
    async (name) => {
      const run = await insertRun(opened.database.db);
      await insertResult(opened.database.db, run, 'Owner/Application');
      const more = name === 'extract_backup_file' ? { file_path: 'a' } : {};
      expect(await faultOf(deps, name, { repo_name: 'owner/aplication', ...more })).toBe(
        'there is no archive of owner/aplication in the archive folder: no repository "owner/aplication" is tracked; did you mean Owner/Application? list_tracked_repositories lists those that are',
      );
      expect(await faultOf(deps, name, { repo_name: 'owner/application', ...more })).toMatch(
        /^there is no archive of owner\/application .*: it may not be backed up yet/,
      );
      await insertResult(opened.database.db, run, 'Owner/Void', { status: 'empty' });
      expect(await faultOf(deps, name, { repo_name: 'owner/void', ...more })).toMatch(
        /^there is no archive of owner\/void .*: its source was empty when it was last read, at \S+, so there is nothing to restore$/,
      );
    },
  );
});
