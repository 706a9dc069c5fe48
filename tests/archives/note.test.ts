import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ArchiveFolder, anyCall, createArchiveFolder, sha256 } from '../support/archives.ts';

// How the records of an archive in the database and in its note are used.

let archives: ArchiveFolder;
let archived: string;
const OLD = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);
const NAME = 'team__app.bundle';

beforeEach(async () => {
  archives = await createArchiveFolder();
  const app = await archives.repository('app');
  await app.commit({ 'a.txt': 'one\n' });
  archived = sha256(await archives.bundle(NAME, app));
});
afterEach(() => archives.remove());

const verify = () => archives.reader().verify('team/app', anyCall);
const writeNote = (fields: object) =>
  archives.write(`${NAME}.json`, JSON.stringify({ version: 2, ...fields }));
const record = (archive_sha256: string) =>
  archives.records.set('team/app', { archive_key: '', archive_sha256 });

describe('without a record in the database', () => {
  it('the SHA-256 is compared with the one in the note', async () => {
    await writeNote({ archive_sha256: archived, repository: 'fields that are not known' });
    expect(await verify()).toMatchObject({
      integrity_status: 'VALID_UNCOMPROMISED',
      expected_sha256: archived,
      expected_by: 'note',
      proof: { checksum: 'passed' },
    });
  });

  it('an intact archive that replaced the noted one is rejected', async () => {
    await writeNote({ archive_sha256: OTHER });
    await expect(verify()).rejects.toThrow(
      `CHECKSUM_MISMATCH: ${NAME}: its SHA-256 is ${archived}, recorded is ${OTHER} (`,
    );
  });

  it.each<[string, () => unknown]>([
    ['there is no note', () => undefined],
    ['the note is not JSON', () => archives.write(`${NAME}.json`, '{"version":2')],
    ['the note is of another version', () => writeNote({ version: 3, archive_sha256: archived })],
    ['the note has no SHA-256', () => writeNote({})],
    ['its SHA-256 is invalid', () => writeNote({ archive_sha256: 'AB'.repeat(32) })],
    ['the note is a folder', () => mkdir(join(archives.root, `${NAME}.json`))],
    [
      'the note is longer than four mebibytes',
      () => writeNote({ archive_sha256: archived, more: 'x'.repeat(2 ** 22) }),
    ],
    [
      'the note is a link that leads out of the folder',
      async () => {
        const outside = join(archives.outside, 'note');
        await writeFile(outside, JSON.stringify({ version: 2, archive_sha256: archived }));
        await symlink(outside, join(archives.root, `${NAME}.json`));
      },
    ],
  ])('the archive is valid but unrecorded if %s', async (_, prepare) => {
    await prepare();
    expect(await verify()).toMatchObject({
      integrity_status: 'VALID_UNRECORDED',
      expected_sha256: null,
      expected_by: null,
      pack_verified: true,
      proof: { checksum: 'not_recorded', history: 'passed' },
    });
  });

  // Root may read everything.
  it.skipIf(process.getuid?.() === 0)('a note that may not be read is an error', async () => {
    await writeNote({ archive_sha256: archived });
    await chmod(join(archives.root, `${NAME}.json`), 0);
    await expect(verify()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});

describe('while the archive is being replaced', () => {
  it.each([
    ['the next archive', () => ({ archive_sha256: archived, replacing: { sha256: OLD } })],
    ['the previous archive', () => ({ archive_sha256: OTHER, replacing: { sha256: archived } })],
  ])('%s is the expected one', async (_, fields) => {
    await writeNote(fields());
    expect(await verify()).toMatchObject({
      integrity_status: 'VALID_UNCOMPROMISED',
      expected_sha256: archived,
    });
  });

  it('a third archive is rejected', async () => {
    await writeNote({ archive_sha256: OTHER, replacing: { sha256: OLD } });
    await expect(verify()).rejects.toThrow(/^CHECKSUM_MISMATCH/);
  });

  it('a previous archive without a record is unrecorded, not damaged', async () => {
    await writeNote({ archive_sha256: OTHER, replacing: { sha256: null } });
    expect(await verify()).toMatchObject({ integrity_status: 'VALID_UNRECORDED' });
  });

  it('the note is read again before the verdict', async () => {
    await writeNote({ archive_sha256: OTHER });
    const findRecord = async () => {
      // The record is looked up again once the archive was hashed.
      if (asked++ > 0) await writeNote({ archive_sha256: archived });
      return null;
    };
    let asked = 0;
    const { integrity_status } = await archives.reader({ findRecord }).verify('team/app', anyCall);
    expect(integrity_status).toBe('VALID_UNCOMPROMISED');
  });
});

describe('with a record in the database', () => {
  it('it takes precedence, and a different note is reported', async () => {
    record(archived);
    await writeNote({ archive_sha256: OTHER });
    expect(await verify()).toMatchObject({
      integrity_status: 'VALID_UNCOMPROMISED',
      expected_by: 'database',
      remark: `its note records a different SHA-256 than the database, ${OTHER}`,
    });
    record(OTHER);
    await writeNote({ archive_sha256: archived });
    await expect(verify()).rejects.toThrow(
      `recorded is ${OTHER}; its note records a different SHA-256 than the database, ${archived} (`,
    );
  });

  it('a note that agrees with it, or announces another archive, is not reported', async () => {
    record(archived);
    await writeNote({ archive_sha256: archived });
    expect(await verify()).not.toHaveProperty('remark');
    await writeNote({ archive_sha256: OTHER, replacing: { sha256: archived } });
    expect(await verify()).not.toHaveProperty('remark');
  });

  it('a run that was stopped before it recorded the archive is distinguished from damage', async () => {
    record(OLD);
    await writeNote({ archive_sha256: archived, replacing: { sha256: OLD } });
    await expect(verify()).rejects.toThrow(
      /^CHECKSUM_MISMATCH: .*; according to its note, a run has replaced this archive but not recorded it yet: .* the next one writes and records it again \(/,
    );
  });
});
