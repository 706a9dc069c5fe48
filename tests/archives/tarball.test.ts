import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ArchiveFolder,
  anyCall,
  createArchiveFolder,
  makeTar,
  makeTarball,
  sha256,
} from '../support/archives.ts';

let archives: ArchiveFolder;
beforeEach(async () => {
  archives = await createArchiveFolder();
});
afterEach(() => archives.remove());

const write = (bytes: Uint8Array) => archives.write('app.tar.gz', bytes);
const verify = () => archives.reader().verify('app', anyCall);
const inspect = (options: { prefix?: string; limit?: number } = {}) =>
  archives.reader().inspect('app', { limit: 50, ...options }, anyCall);
const extract = (path: string) => archives.reader().extract('app', path, {}, anyCall);

/** A tar whose first header was changed, with its checksum corrected. */
function withChecksum(tar: Buffer): Buffer {
  const header = tar.fill(' ', 148, 156).subarray(0, 512);
  const sum = header.reduce((all, byte) => all + byte, 0);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return tar;
}

const hostile = [
  [{ name: 'dir/', type: 'directory', mode: 0o755 }],
  [{ name: 'dir/a.txt', mode: 0o640 }, 'one'],
  [{ name: '/etc/cron.d/x' }, 'absolute'],
  [{ name: '../../climbing' }, 'climbing'],
  [{ name: 'way', type: 'symlink', linkname: '/etc/passwd' }],
  [{ name: 'same', type: 'link', linkname: 'dir/a.txt' }],
  [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }],
  [{ name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 }],
  [{ name: 'pipe', type: 'fifo' }],
  [{ name: 'line\nbreak' }, ''],
] satisfies Parameters<typeof makeTarball>;

it('verification accepts an intact tar.gz by its SHA-256 and its headers', async () => {
  const bytes = await makeTarball(...hostile);
  await write(bytes);
  archives.records.set('app', { archive_key: '', archive_sha256: sha256(bytes) });
  expect(await verify()).toEqual({
    repository: 'app',
    archive: 'app.tar.gz',
    format: 'tar.gz',
    resolved_by: 'legacy_name',
    archive_size_bytes: bytes.length,
    sha256_checksum: sha256(bytes),
    expected_sha256: sha256(bytes),
    expected_by: 'database',
    files: 1,
    refs: [],
    ref_count: 0,
    pack_verified: false,
    integrity_status: 'VALID_UNCOMPROMISED',
    proof: {
      checksum: 'passed',
      header: 'passed',
      pack_checksum: 'not_applicable',
      objects: 'not_applicable',
      history: 'not_applicable',
    },
  });
});

it('verification rejects a SHA-256 that differs from the recorded one', async () => {
  await write(await makeTarball([{ name: 'a' }, 'a']));
  archives.records.set('app', { archive_key: '', archive_sha256: 'ab'.repeat(32) });
  await expect(verify()).rejects.toThrow(/^CHECKSUM_MISMATCH: app\.tar\.gz: .*header passed/);
});

it('a listing contains links, devices, absolute paths and paths with .., and follows or writes none', async () => {
  await write(await makeTarball(...hostile));
  const { entries, ...rest } = await inspect();
  expect(entries).toEqual([
    { path: 'dir/', size: 0, mode: '0755', type: 'directory' },
    { path: 'dir/a.txt', size: 3, mode: '0640', type: 'file' },
    { path: '/etc/cron.d/x', size: 8, mode: '0644', type: 'file' },
    { path: '../../climbing', size: 8, mode: '0644', type: 'file' },
    { path: 'way', size: 0, mode: '0644', type: 'symlink' },
    { path: 'same', size: 0, mode: '0644', type: 'link' },
    { path: 'null', size: 0, mode: '0644', type: 'character-device' },
    { path: 'disk', size: 0, mode: '0644', type: 'block-device' },
    { path: 'pipe', size: 0, mode: '0644', type: 'fifo' },
    { path: 'line\nbreak', size: 0, mode: '0644', type: 'file' },
  ]);
  expect(rest).toMatchObject({ format: 'tar.gz', returned: 10, truncated: false });
  await expect(extract('way')).rejects.toThrow('"way" is a symbolic link, which is not followed');
  await expect(extract('same')).rejects.toThrow('"same" is a hard link, which is not followed');
  await expect(extract('dir')).rejects.toThrow('"dir" is a directory');
  await expect(extract('null')).rejects.toThrow('"null" is a device');
  await expect(extract('pipe')).rejects.toThrow('"pipe" is a named pipe');
  expect(await archives.leftovers()).toEqual([]);
});

it('a listing filters by path prefix, and stops once it has enough', async () => {
  const whole = await makeTarball([{ name: './src/a' }, 'a'], [{ name: './src/b' }, 'b']);
  await write(whole.subarray(0, -8));
  expect(await inspect({ prefix: 'src/', limit: 1 })).toMatchObject({
    entries: [{ path: './src/a' }],
    returned: 1,
    truncated: true,
  });
  await expect(inspect({ prefix: 'src/', limit: 2 })).rejects.toThrow(/^CORRUPT_ARCHIVE/);
  await write(whole);
  expect(await inspect({ prefix: 'src/', limit: 2 })).toMatchObject({ truncated: false });
  expect(await inspect({ prefix: 'rc/' })).toMatchObject({ entries: [], truncated: false });
});

describe('a file', () => {
  it('is read with or without the ./ that tar puts before names', async () => {
    await write(await makeTarball([{ name: './a.txt' }, 'größe']));
    expect(await extract('a.txt')).toEqual({
      repository: 'app',
      archive: 'app.tar.gz',
      path: 'a.txt',
      size: 7,
      encoding: 'utf-8',
      bytes: { offset: 0, length: 7, total: 7 },
      lines: { start: 1, end: 1, total: 1 },
      truncated: false,
      content: 'größe',
    });
    expect((await extract('./a.txt')).content).toBe('größe');
  });

  it('is the last entry of its name, as after unpacking', async () => {
    await write(
      await makeTarball([{ name: 'a' }, 'old'], [{ name: 'b' }, 'b'], [{ name: 'a' }, 'new']),
    );
    expect((await extract('a')).content).toBe('new');
    await write(
      await makeTarball([{ name: 'a' }, 'old'], [{ name: 'a', type: 'symlink', linkname: 'b' }]),
    );
    await expect(extract('a')).rejects.toThrow('is a symbolic link');
  });

  it('may have up to 10 MiB', async () => {
    const most = 10 * 2 ** 20;
    await write(
      await makeTarball(
        [{ name: 'most' }, Buffer.alloc(most, 7)],
        [{ name: 'more' }, Buffer.alloc(most + 1)],
      ),
    );
    expect(await extract('most')).toMatchObject({ size: most, encoding: 'utf-8' });
    await expect(extract('more')).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: '"more" has 10485761 bytes; at most 10485760 can be extracted',
    });
  });

  it('is not extracted from a damaged archive', async () => {
    const bytes = await makeTarball([{ name: 'a' }, 'a'], [{ name: 'b' }, 'b']);
    await write(bytes.subarray(0, -5));
    await expect(extract('a')).rejects.toThrow(/^CORRUPT_ARCHIVE/);
  });

  it('is rejected if it is missing', async () => {
    await write(await makeTarball([{ name: 'a' }, 'a']));
    await expect(extract('A')).rejects.toThrow('the archive has no file "A"');
  });
});

describe('damage', () => {
  const shown = async () => {
    const failure = await verify().then(
      () => null,
      (error: Error) => error,
    );
    return failure?.message ?? 'it was found valid';
  };

  it.each([
    ['an empty file', async () => Buffer.alloc(0), 'the gzip stream ends too early'],
    ['another file', async () => Buffer.from('hello'), 'the gzip stream is damaged'],
    [
      'a gzip stream that was cut short',
      async () => (await makeTarball(...hostile)).subarray(0, -4),
      'the gzip stream ends too early',
    ],
    [
      'a byte of the content that changed',
      async () => {
        const bytes = gzipSync(await makeTar([{ name: 'a' }, 'x'.repeat(600)]), { level: 0 });
        bytes[900] = 0;
        return bytes;
      },
      'the gzip stream is damaged: incorrect data check',
    ],
    [
      'something behind the gzip stream',
      async () => Buffer.concat([await makeTarball(...hostile), Buffer.from('and more of it')]),
      'the gzip stream is damaged',
    ],
    ...[10, 2 ** 21].map((zeros): [string, () => Promise<Buffer>, string] => [
      `something behind ${zeros} zeros behind the gzip stream`,
      async () =>
        Buffer.concat([await makeTarball(...hostile), Buffer.alloc(zeros), Buffer.from('more')]),
      'other data follows the gzip stream',
    ]),
    [
      'a tar that was cut between two entries',
      async () =>
        gzipSync((await makeTar([{ name: 'a' }, 'a'], [{ name: 'b' }, 'b'])).subarray(0, 1024)),
      'the tar has no end: it was truncated',
    ],
    [
      'a tar that was cut in an entry',
      async () => gzipSync((await makeTar([{ name: 'a' }, 'x'.repeat(600)])).subarray(0, 1000)),
      'the tar is damaged: Unexpected end of data',
    ],
    [
      'something behind the tar',
      async () => gzipSync(Buffer.concat([await makeTar([{ name: 'a' }, 'a']), Buffer.from('x')])),
      'the tar is damaged',
    ],
    [
      'a header with a wrong checksum',
      async () => {
        const tar = await makeTar([{ name: 'a' }, 'a']);
        tar[0] = 98;
        return gzipSync(tar);
      },
      'the tar is damaged: Invalid tar header',
    ],
    [
      'what may be a kind of entry that is not known, which it says',
      async () => {
        const tar = await makeTar([{ name: 'sparse' }, 'x'.repeat(1024)]);
        // GNU tar writes a sparse file of many pieces like this: their list continues in blocks that no size counts.
        const header = withChecksum(tar.fill('S', 156, 157)).subarray(0, 512);
        return gzipSync(Buffer.concat([header, Buffer.alloc(512, 1), tar.subarray(512)]));
      },
      'or it is intact and has an entry of an unknown type, "sparse": check it with tar tzf',
    ],
    [
      'a name that no file can have',
      async () => makeTarball([{ name: `${'x'.repeat(5_000)}` }, 'a']),
      "an entry's name is longer than 4096 characters",
    ],
  ])('is reported for %s', async (_, make, reason) => {
    await write(await make());
    const message = await shown();
    expect(message).toMatch(/^CORRUPT_ARCHIVE: app\.tar\.gz: .*header failed/);
    expect(message).toContain(reason);
  });

  it('is not reported for a tar without a magic number', async () => {
    const tar = await makeTar([{ name: 'a', mode: 0o600 }, 'old']);
    // Like tar --format=v7 writes it: no magic number, and so another checksum.
    tar.fill(0, 257, 512);
    await write(gzipSync(withChecksum(tar)));
    expect((await verify()).integrity_status).toBe('VALID_UNRECORDED');
    expect(await extract('a')).toMatchObject({ content: 'old' });
  });

  it('is not reported for zeros after the gzip stream, with which a medium may fill its last block', async () => {
    await write(Buffer.concat([await makeTarball([{ name: 'a' }, 'a']), Buffer.alloc(600)]));
    expect((await verify()).integrity_status).toBe('VALID_UNRECORDED');
  });

  it('is not reported for an empty archive, or for several gzip streams', async () => {
    await write(await makeTarball());
    expect((await verify()).integrity_status).toBe('VALID_UNRECORDED');
    const tar = await makeTar(...hostile);
    await write(Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]));
    expect((await verify()).integrity_status).toBe('VALID_UNRECORDED');
  });
});

describe('a bomb', () => {
  it('is not inflated beyond the limit', async () => {
    const size = 64 * 2 ** 20;
    await write(await makeTarball([{ name: 'zeros' }, Buffer.alloc(size)]));
    const reader = archives.reader({ limits: { inflatedBytes: size / 2 } });
    const fault = /^CORRUPT_ARCHIVE: .*inflates to more than 33554432 bytes/;
    await expect(reader.verify('app', anyCall)).rejects.toThrow(fault);
    await expect(reader.inspect('app', { limit: 9 }, anyCall)).rejects.toThrow(fault);
    await expect(reader.extract('app', 'zeros', {}, anyCall)).rejects.toThrow(fault);
  });

  it('is not read beyond the maximum number of entries', async () => {
    const names = Array.from({ length: 40 }, (_, n) => [{ name: `${n}` }, ''] as const);
    await write(
      await makeTarball(
        ...names.map(([header, text]) => [header, text] as [typeof header, string]),
      ),
    );
    const reader = archives.reader({ limits: { entries: 39 } });
    await expect(reader.verify('app', anyCall)).rejects.toThrow(/it has more than 39 entries/);
  });
});

it('reading stops with the reason of its signal', async () => {
  await write(await makeTarball([{ name: 'zeros' }, Buffer.alloc(2 ** 26)]));
  const reason = new Error('nobody waits any more');
  const stop = new AbortController();
  const answer = archives.reader().verify('app', { signal: stop.signal });
  stop.abort(reason);
  await expect(answer).rejects.toBe(reason);
});
