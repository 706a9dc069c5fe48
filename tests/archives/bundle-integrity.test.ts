import { execFile } from 'node:child_process';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ArchiveFolder, anyCall, createArchiveFolder, sha256 } from '../support/archives.ts';
import { git, type TestRepository } from '../support/git.ts';

let archives: ArchiveFolder;
let app: TestRepository;

beforeEach(async () => {
  archives = await createArchiveFolder();
  app = await archives.repository('app');
  await app.commit({ 'a.txt': 'one\n' });
  await app.commit({ 'a.txt': 'two\n', 'b/c.txt': 'three\n' });
});
afterEach(() => archives.remove());

const verify = (name = 'team/app') => archives.reader().verify(name, anyCall);

function proof(outcomes: Partial<Record<string, string>> = {}) {
  return {
    checksum: 'not_recorded',
    header: 'passed',
    pack_checksum: 'passed',
    objects: 'passed',
    history: 'passed',
    ...outcomes,
  };
}

/** The proof as an error lists it. */
const describeProof = (outcomes: Partial<Record<string, string>>) =>
  Object.entries(proof(outcomes))
    .map(([name, outcome]) => `${name} ${outcome}`)
    .join(', ');

async function refusal(name = 'team/app'): Promise<string> {
  const failure = await verify(name).then(
    () => null,
    (error: Error) => error,
  );
  expect(await archives.leftovers()).toEqual([]);
  return failure?.message ?? 'it was found valid';
}

it('verification accepts an intact bundle, and lists its refs with their commits', async () => {
  await app.git('tag', '-a', '-m', 'first', 'v1', 'main~1');
  const bytes = await archives.bundle('team__app.bundle', app);
  const [main, first] = [await app.git('rev-parse', 'main'), await app.git('rev-parse', 'main~1')];
  archives.records.set('team/app', { archive_key: '', archive_sha256: sha256(bytes) });
  expect(await verify()).toEqual({
    repository: 'team/app',
    archive: 'team__app.bundle',
    format: 'bundle',
    resolved_by: 'canonical_name',
    archive_size_bytes: bytes.length,
    sha256_checksum: sha256(bytes),
    expected_sha256: sha256(bytes),
    expected_by: 'database',
    files: 1,
    refs: [
      { name: 'refs/heads/main', commit: main },
      { name: 'refs/tags/v1', commit: first },
      { name: 'HEAD', commit: main },
    ],
    ref_count: 3,
    pack_verified: true,
    integrity_status: 'VALID_UNCOMPROMISED',
    proof: proof({ checksum: 'passed' }),
  });
  expect(await archives.leftovers()).toEqual([]);
});

it('verification rejects a SHA-256 that differs from the recorded one, and still reports which other checks pass', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  archives.records.set('team/app', { archive_key: '', archive_sha256: 'ab'.repeat(32) });
  expect(await refusal()).toBe(
    `CHECKSUM_MISMATCH: team__app.bundle: its SHA-256 is ${sha256(bytes)}, recorded is ${'ab'.repeat(32)} (${describeProof({ checksum: 'failed' })})`,
  );
});

it('verification describes the damage as well when the SHA-256 differs from the recorded one', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  archives.records.set('team/app', { archive_key: '', archive_sha256: sha256(bytes) });
  await archives.write('team__app.bundle', bytes.subarray(0, -30));
  expect(await refusal()).toMatch(
    /^CHECKSUM_MISMATCH: .*; also CORRUPT_ARCHIVE: the pack does not match/,
  );
});

it('verification accepts a bundle that was recorded while it was being read', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  const recorded = ['ab'.repeat(32), sha256(bytes)];
  const findRecord = async () => ({ archive_key: '', archive_sha256: recorded.shift() ?? '' });
  const answer = await archives.reader({ findRecord }).verify('team/app', anyCall);
  expect(answer.expected_sha256).toBe(sha256(bytes));
});

it('verification detects a flipped bit anywhere in the pack', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  const pack = bytes.indexOf('PACK');
  const step = Math.ceil((bytes.length - pack) / 12);
  for (let at = pack + 12; at < bytes.length; at += step) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    await archives.write('team__app.bundle', damaged);
    expect(await refusal()).toMatch(/^CORRUPT_ARCHIVE: .*pack_checksum failed/);
  }
});

it.each([1, 20, 100])(
  'verification detects a bundle that lacks its last %d bytes',
  async (missing) => {
    const bytes = await archives.bundle('team__app.bundle', app);
    await archives.write('team__app.bundle', bytes.subarray(0, -missing));
    expect(await refusal()).toMatch(/^CORRUPT_ARCHIVE: .*pack_checksum failed/);
  },
);

it('verification reports damage when a bundle makes git ask for more memory than allowed', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  // A commit that claims to have 2^40 bytes.
  const size = Buffer.from([0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
  const first = bytes.indexOf('PACK') + 12;
  const damaged = Buffer.concat([bytes.subarray(0, first), size, bytes.subarray(first)]);
  await archives.write('team__app.bundle', damaged);
  expect(await refusal()).toMatch(/^CORRUPT_ARCHIVE: .*pack_checksum failed/);
});

it('verification detects data after the pack', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  await archives.write('team__app.bundle', Buffer.concat([bytes, Buffer.from('more')]));
  expect(await refusal()).toMatch(/^CORRUPT_ARCHIVE: /);
});

it.each([
  ['an empty file', '', 'the file is empty'],
  [
    'a header of more than 32 MiB',
    `# v2 git bundle\n${'-'.repeat(2 ** 25)}`,
    'longer than 33554432',
  ],
  ['another file', 'hello\n\n', 'the file does not start like a git bundle'],
  ['a header without end', '# v2 git bundle\n', "the bundle's header does not end"],
  ['a header without pack', `# v2 git bundle\n${'a'.repeat(40)} HEAD\n\n`, 'no pack follows'],
  ['no refs', `# v2 git bundle\n\nPACK${'\0'.repeat(8)}`, 'the bundle has no refs'],
  [
    'a header that git would not write',
    `# v2 git bundle\nHEAD\n\nPACK${'\0'.repeat(8)}`,
    "the bundle's header is malformed",
  ],
  [
    'a capability that nobody knows',
    `# v3 git bundle\n@teleport=1\n\nPACK${'\0'.repeat(8)}`,
    'requires an unknown capability',
  ],
])('verification rejects %s', async (_, text, reason) => {
  await archives.write('team__app.bundle', text);
  const message = await refusal();
  expect(message).toMatch(/^CORRUPT_ARCHIVE: team__app\.bundle: /);
  expect(message).toContain(reason);
  expect(message).toContain('header failed');
});

describe('an incomplete history', () => {
  it('is found in the bundle of a shallow clone, which git bundle verify accepts', async () => {
    const shallow = await archives.repository('shallow');
    await shallow.git('fetch', '--quiet', '--depth=1', `file://${app.path}`, 'main:copy');
    await archives.bundle('team__app.bundle', shallow, 'copy');
    expect(
      await git(
        archives.outside,
        '-C',
        shallow.path,
        'bundle',
        'verify',
        '--quiet',
        join(archives.root, 'team__app.bundle'),
      ),
    ).toBe('');
    const parent = await app.git('rev-parse', 'main~1');
    expect(await refusal()).toBe(
      `INCOMPLETE_HISTORY: team__app.bundle: the bundle does not contain the object ${parent}, which it needs (${describeProof({ history: 'failed' })})`,
    );
  });

  it('is found in an incremental bundle', async () => {
    await archives.bundle('team__app.bundle', app, 'main~1..main');
    expect(await refusal()).toMatch(/^INCOMPLETE_HISTORY: .*incremental.*history failed/);
  });

  it('is found in a bundle that was made with a filter', async () => {
    await archives.bundle('team__app.bundle', app, '--filter=blob:none', 'main');
    expect(await refusal()).toMatch(/^INCOMPLETE_HISTORY: .*filter.*history failed/);
  });

  it.each([
    ['tree', 'main~1^{tree}'],
    ['tree below a tree', 'main:b'],
    ['file', 'main:b/c.txt'],
  ])('is found where the pack lacks a %s', async (_, revision) => {
    const left = await app.git('rev-parse', revision);
    const ids = await app.git('rev-list', '--objects', '--no-object-names', 'main');
    const kept = ids.split('\n').filter((id) => id !== left);
    const head = `# v2 git bundle\n${await app.git('rev-parse', 'main')} refs/heads/main\n\n`;
    const args = ['-C', app.path, 'pack-objects', '--quiet', '--stdout'];
    const packing = promisify(execFile)('git', args, { encoding: 'buffer' });
    packing.child.stdin?.end(`${kept.join('\n')}\n`);
    const { stdout: pack } = await packing;
    await archives.write('team__app.bundle', Buffer.concat([Buffer.from(head), pack]));
    expect(await refusal()).toMatch(
      new RegExp(`^INCOMPLETE_HISTORY: .* does not contain the object ${left}, .*history failed`),
    );
  });

  it('is found where a ref names a commit that the bundle does not contain', async () => {
    const bytes = await archives.bundle('team__app.bundle', app);
    const main = await app.git('rev-parse', 'main');
    const other = 'ab'.repeat(20);
    const header = bytes.toString('latin1').replace(main, other);
    await archives.write('team__app.bundle', Buffer.from(header, 'latin1'));
    expect(await refusal()).toMatch(
      new RegExp(`^INCOMPLETE_HISTORY: .*a ref points to the object ${other}.*history failed`),
    );
  });
});

it('verification accepts old commits that strict checks would reject', async () => {
  const tree = await app.git('rev-parse', 'main^{tree}');
  const commit = `tree ${tree}\nauthor A <a@b> 1 +051800\ncommitter A <a@b> 1 +0000\n\nold\n`;
  await archives.write('commit', commit);
  const path = join(archives.root, 'commit');
  const id = await app.git('hash-object', '-t', 'commit', '-w', '--literally', path);
  await app.git('branch', 'old', id);
  await expect(app.git('fsck', '--strict')).rejects.toThrow(/badTimezone/);
  await archives.bundle('team__app.bundle', app);
  expect((await verify()).integrity_status).toBe('VALID_UNRECORDED');
});

it('verification supports SHA-256 objects', async () => {
  await git(archives.outside, 'init', '--quiet', '--object-format=sha256', 'new');
  const modern = await archives.repository('new');
  await modern.commit({ 'a.txt': 'one' });
  await archives.bundle('team__app.bundle', modern);
  expect((await verify()).proof).toEqual(proof());
});

it('verification accepts every character that git allows in a ref name', async () => {
  const name = 'refs/heads/a\u2028b\u0085größe';
  await app.git('update-ref', name, 'main');
  await archives.bundle('team__app.bundle', app, name);
  expect((await verify()).refs).toEqual([{ name, commit: await app.git('rev-parse', 'main') }]);
});

it('verification lists 100 refs and counts all of them', async () => {
  const main = await app.git('rev-parse', 'main');
  const bytes = await archives.bundle('team__app.bundle', app);
  const names = Array.from({ length: 1_200 }, (_, n) => `${main} refs/heads/b${n}\n`).join('');
  const text = bytes.toString('latin1').replace('\n', () => `\n${names}`);
  await archives.write('team__app.bundle', Buffer.from(text, 'latin1'));
  const answer = await verify();
  expect(answer).toMatchObject({ truncated: true, ref_count: 1_202 });
  expect(answer.refs).toHaveLength(100);
  expect(answer.refs.at(-1)?.name).toBe('refs/heads/b99');
});

it('verification lists only as many refs as fit a response', async () => {
  const main = await app.git('rev-parse', 'main');
  const bytes = await archives.bundle('team__app.bundle', app);
  const long = 'x'.repeat(1_000);
  const names = Array.from({ length: 90 }, (_, n) => `${main} refs/heads/${n}${long}\n`).join('');
  const text = bytes.toString('latin1').replace('\n', () => `\n${names}`);
  await archives.write('team__app.bundle', Buffer.from(text, 'latin1'));
  const answer = await verify();
  expect(answer).toMatchObject({ truncated: true, ref_count: 92 });
  expect(answer.refs.length).toBeGreaterThan(20);
  expect(JSON.stringify(answer).length).toBeLessThan(40_000);
});

it('verification gives git more time for a larger bundle', async () => {
  await archives.bundle('team__app.bundle', app);
  const slow = { gitTimeoutMs: 0, gitBytesPerMs: 1_000 };
  await expect(archives.reader({ limits: slow }).verify('team/app', anyCall)).rejects.toThrow(
    'did not end in time',
  );
  const scaled = { gitTimeoutMs: 0, gitBytesPerMs: 0.001 };
  const answer = await archives.reader({ limits: scaled }).verify('team/app', anyCall);
  expect(answer.integrity_status).toBe('VALID_UNRECORDED');
});

it('verification reports missing disk space before unpacking, and stops hashing', async () => {
  await archives.bundle('team__app.bundle', app);
  // Reading that much takes longer than the test may.
  await truncate(join(archives.root, 'team__app.bundle'), 10 ** 12);
  const reader = archives.reader({ limits: { unpackedBundleBytes: 10 ** 13 } });
  await expect(reader.verify('team/app', anyCall)).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: 'the folder for temporary files (TMPDIR) has too little space to unpack the bundle',
  });
});

it('verification does not judge an intact bundle that is too large to unpack', async () => {
  const bytes = await archives.bundle('team__app.bundle', app);
  const limits = { unpackedBundleBytes: bytes.length - 1 };
  const answer = archives.reader({ limits }).verify('team/app', anyCall);
  await expect(answer).rejects.toThrow(
    /^INCOMPLETE_HISTORY: .*was not unpacked because it is larger than .* this is not a sign of damage \(checksum not_recorded, header passed, pack_checksum passed, objects not_checked, history not_checked\)$/,
  );
});

it('verification does not unpack a bundle with more objects than the limit', async () => {
  await archives.bundle('team__app.bundle', app);
  const answer = archives.reader({ limits: { entries: 2 } }).verify('team/app', anyCall);
  await expect(answer).rejects.toThrow(/^INCOMPLETE_HISTORY: .*it has more than 2 objects/);
});

it('verification handles two bundles concurrently', async () => {
  await archives.bundle('team__app.bundle', app);
  await archives.bundle('team__other.bundle', app);
  const reader = archives.reader();
  const answers = await Promise.all(
    ['team/app', 'team/other', 'team/app', 'team/other'].map((name) =>
      reader.verify(name, anyCall),
    ),
  );
  expect(answers.map(({ archive }) => archive)).toEqual([
    'team__app.bundle',
    'team__other.bundle',
    'team__app.bundle',
    'team__other.bundle',
  ]);
  expect(await archives.leftovers()).toEqual([]);
});
