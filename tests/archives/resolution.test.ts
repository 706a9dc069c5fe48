import { execFile } from 'node:child_process';
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordedArchive } from '../../lib/archives/base/archive-owner.ts';
import { openArchive } from '../../lib/archives/base/open-archive.ts';
import {
  type ArchiveFolder,
  anyCall,
  createArchiveFolder,
  makeTarball,
  sha256,
} from '../support/archives.ts';

let archives: ArchiveFolder;
beforeEach(async () => {
  archives = await createArchiveFolder();
});
afterEach(() => archives.remove());

/** The archive's name and how it was found, or the error message. */
async function resolve(repository: string, record: Partial<RecordedArchive> | null = null) {
  const recorded = record && { archive_key: '', archive_sha256: '', ...record };
  try {
    const archive = await openArchive(archives.root, repository, recorded);
    await archive.close();
    return [archive.name, archive.resolvedBy];
  } catch (error) {
    return (error as Error).message;
  }
}

const missing = (repository: string) =>
  `there is no archive of ${repository} in the archive folder`;

describe('the order of candidates', () => {
  it('is the recorded key, the bundle, the tar.gz, the legacy name, then the legacy name in any letter case', async () => {
    const expected = [
      ['2026/kept.bundle', 'worker_repo_state'],
      ['team__app.bundle', 'canonical_name'],
      ['team__app.tar.gz', 'canonical_name'],
      ['App.tar.gz', 'legacy_name'],
      ['APP.TAR.GZ', 'legacy_name_any_case'],
    ] as const;
    await mkdir(join(archives.root, '2026'));
    for (const [name] of expected) await archives.write(name, '');
    for (const [name, resolvedBy] of expected) {
      expect(await resolve('Team/App', { archive_key: '2026/kept.bundle' })).toEqual([
        name,
        resolvedBy,
      ]);
      await rm(join(archives.root, name));
    }
    expect(await resolve('Team/App')).toBe(missing('Team/App'));
  });

  it('consists only of the legacy names for a bare name', async () => {
    await archives.write('app.bundle', '');
    await archives.write('team__app.bundle', '');
    expect(await resolve('app')).toBe(missing('app'));
    await archives.write('app.tar.gz', '');
    expect(await resolve('app')).toEqual(['app.tar.gz', 'legacy_name']);
  });

  it('does not match part of a name', async () => {
    for (const name of [
      'team__app2.bundle',
      'xteam__app.bundle',
      'my-app.tar.gz',
      'app.tar.gz.1',
    ]) {
      await archives.write(name, '');
    }
    expect(await resolve('team/app')).toBe(missing('team/app'));
  });

  it('does not choose among legacy names that differ in letter case', async () => {
    await archives.write('APP.tar.gz', '');
    await archives.write('App.tar.gz', '');
    expect(await resolve('app')).toMatch(
      /^2 archives are named app\.tar\.gz in different letter case/,
    );
    expect(await resolve('App')).toEqual(['App.tar.gz', 'legacy_name']);
    await rm(join(archives.root, 'APP.tar.gz'));
    await mkdir(join(archives.root, 'APP.tar.gz'));
    expect(await resolve('app')).toEqual(['App.tar.gz', 'legacy_name_any_case']);
  });
});

it.each([
  '',
  'a/b/c',
  '/app',
  'app/',
  '..',
  '../app',
  'team/..',
  '.',
  'a\\b',
  'team/a\0b',
  'team/a\nb',
  'x'.repeat(256),
  `team/${'\u00e4'.repeat(128)}`,
])('the repo_name %j is rejected', async (name) => {
  expect(await resolve(name)).toBe('repo_name must be owner/name or a single name');
});

describe('a path that leads out of the archive folder', () => {
  beforeEach(async () => {
    await writeFile(join(archives.outside, 'secret.bundle'), '');
  });

  it.each([
    '../outside/secret.bundle',
    'x/../../outside/secret.bundle',
    '/etc/secret.bundle',
    '..',
    '',
    '.',
    'a\0.bundle',
    `${'x'.repeat(300)}.bundle`,
    'kept.zip',
  ])('is ignored as a recorded key: %j', async (key) => {
    expect(await resolve('team/app', { archive_key: key })).toBe(missing('team/app'));
    await archives.write('team__app.bundle', '');
    expect(await resolve('team/app', { archive_key: key })).toEqual([
      'team__app.bundle',
      'canonical_name',
    ]);
  });

  it('is ignored as an absolute key, even if the file is inside', async () => {
    await archives.write('other.bundle', '');
    const key = join(archives.root, 'other.bundle');
    expect(await resolve('team/app', { archive_key: key })).toBe(missing('team/app'));
  });

  it('is not followed through a link to a file or to a folder', async () => {
    const target = join(archives.outside, 'secret.bundle');
    await symlink(target, join(archives.root, 'team__app.bundle'));
    await symlink(archives.outside, join(archives.root, 'way'));
    expect(await resolve('team/app')).toBe(missing('team/app'));
    expect(await resolve('team/app', { archive_key: 'way/secret.bundle' })).toBe(
      missing('team/app'),
    );
  });

  it('is not followed even if the link stays inside', async () => {
    await archives.write('real.bundle', '');
    await symlink('real.bundle', join(archives.root, 'team__app.bundle'));
    expect(await resolve('team/app')).toEqual(['team__app.bundle', 'canonical_name']);
  });

  it('is not followed in a circle', async () => {
    await symlink('team__app.bundle', join(archives.root, 'team__app.bundle'));
    expect(await resolve('team/app')).toBe(missing('team/app'));
  });
});

it('a link is followed if it is the archive folder itself', async () => {
  await archives.write('team__app.bundle', '');
  const moved = join(archives.outside, 'moved');
  await rename(archives.root, moved);
  await symlink(moved, archives.root);
  expect(await resolve('team/app')).toEqual(['team__app.bundle', 'canonical_name']);
});

it('a candidate that is not a file is skipped, without waiting for a pipe', async () => {
  await mkdir(join(archives.root, 'team__app.bundle'));
  await promisify(execFile)('mkfifo', [join(archives.root, 'team__app.tar.gz')]);
  await archives.write('app.tar.gz', '');
  expect(await resolve('team/app')).toEqual(['app.tar.gz', 'legacy_name']);
});

it.each(['nothing', 'a file'])('a missing archive folder is reported: %s', async (what) => {
  await rm(archives.root, { recursive: true });
  if (what === 'a file') await writeFile(archives.root, '');
  expect(await resolve('team/app')).toBe(
    'there is no archive folder (BACKUP_ARCHIVE_PATH) here: is its disk mounted? If another machine has it, run the command or `npm run mcp` there',
  );
});

it('an unreadable archive folder is reported', async () => {
  await archives.write('team__app.bundle', '');
  await chmod(archives.root, 0);
  // Permissions do not apply to root, which this process may be.
  const user = process.geteuid?.() ?? 0;
  process.seteuid?.(65_534);
  const answer = await resolve('team/app');
  process.seteuid?.(user);
  expect(answer).toBe(
    'this server has no permission to read the archive or its folder (BACKUP_ARCHIVE_PATH)',
  );
});

it('the recorded SHA-256 is compared whichever candidate is used', async () => {
  const bytes = await makeTarball([{ name: 'a' }, 'a']);
  await archives.write('app.tar.gz', bytes);
  archives.records.set('team/app', {
    archive_key: 'gone.bundle',
    archive_sha256: sha256(bytes).toUpperCase(),
  });
  expect(await archives.reader().verify('team/app', anyCall)).toMatchObject({
    resolved_by: 'legacy_name',
    expected_sha256: sha256(bytes),
    proof: { checksum: 'passed' },
  });
});

it('a call fails if the record cannot be looked up', async () => {
  await archives.write('app.tar.gz', await makeTarball([{ name: 'a' }, 'a']));
  const findRecord = async () => {
    throw new Error('the database is away');
  };
  const answer = archives.reader({ findRecord }).verify('team/app', anyCall);
  await expect(answer).rejects.toThrow('the database is away');
});
