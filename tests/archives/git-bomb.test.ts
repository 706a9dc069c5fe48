import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ArchiveFolder, anyCall, createArchiveFolder } from '../support/archives.ts';
import { plantBomb, type TestRepository } from '../support/git.ts';
import { bundleOf, treeEntry } from '../support/packs.ts';

// Archives of a few bytes with billions of files or folders.

let archives: ArchiveFolder;
let bomb: TestRepository;

beforeEach(async () => {
  archives = await createArchiveFolder();
  bomb = await archives.repository('bomb');
});
afterEach(async () => {
  expect(await archives.leftovers()).toEqual([]);
  await archives.remove();
});

const NAME = 'team__bomb.bundle';
const inspect = (prefix?: string, limit = 3) =>
  archives.reader().inspect('team/bomb', { prefix, limit }, anyCall);
const pathsOf = ({ entries }: { entries: { path: string }[] }) => entries.map(({ path }) => path);

describe('a bundle of ten objects with 10^9 files', () => {
  beforeEach(async () => {
    await plantBomb(bomb);
    expect((await archives.bundle(NAME, bomb)).length).toBeLessThan(1_000);
  });

  it('is verified', async () => {
    expect(await archives.reader().verify('team/bomb', anyCall)).toMatchObject({
      pack_verified: true,
      integrity_status: 'VALID_UNRECORDED',
    });
  });

  it('is listed up to the limit', async () => {
    const answer = await inspect();
    expect(pathsOf(answer)).toEqual([
      '0/0/0/0/0/0/0/0/0',
      '0/0/0/0/0/0/0/0/1',
      '0/0/0/0/0/0/0/0/2',
    ]);
    expect(answer.truncated).toBe(true);
  });

  it.each([
    ['9/9/9/9/9/9/9/9/', ['9/9/9/9/9/9/9/9/0', '9/9/9/9/9/9/9/9/1', '9/9/9/9/9/9/9/9/2'], true],
    ['9/9/9/9/9/9/9/9/9', ['9/9/9/9/9/9/9/9/9'], false],
    ['9/9/9/9/9/9/9/9', ['9/9/9/9/9/9/9/9/0', '9/9/9/9/9/9/9/9/1', '9/9/9/9/9/9/9/9/2'], true],
    ['nothing', [], false],
    ['9/nothing', [], false],
    ['9/9/9/9/9/9/9/9/nothing', [], false],
    ['nothing/9', [], false],
    ['[0-9]/', [], false],
    ['*', [], false],
  ])('can be listed with the prefix %j', async (prefix, paths, truncated) => {
    const answer = await inspect(prefix);
    expect({ paths: pathsOf(answer), truncated: answer.truncated }).toEqual({ paths, truncated });
  });

  it('can be read from', async () => {
    const answer = await archives.reader().extract('team/bomb', '4/2/4/2/4/2/4/2/4', {}, anyCall);
    expect(answer.content).toBe('x');
  });
});

describe('a bundle of 10^12 folders without a file', () => {
  beforeEach(async () => {
    // git walks 10^7 of them in half a second.
    await plantBomb(bomb, { hasFiles: false, levels: 13 });
    await archives.bundle(NAME, bomb);
  });

  it.each([undefined, '9', '9/'])(
    'is searched for the prefix %j until time runs out',
    async (prefix) => {
      const reader = archives.reader({ limits: { listTimeoutMs: 500 } });
      await expect(
        reader.inspect('team/bomb', { prefix, limit: 3 }, anyCall),
      ).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
        message: expect.stringMatching(
          /^the files cannot be listed in 0.5 s.*use the path of a folder/,
        ),
      });
    },
  );

  it('is still verified', async () => {
    const { pack_verified } = await archives.reader().verify('team/bomb', anyCall);
    expect(pack_verified).toBe(true);
  });
});

/** A bundle with `depth` nested folders, and one file at the end. */
function nested(depth: number, name: string): Buffer {
  return bundleOf((pack) => {
    let id = pack.add('blob', Buffer.from('x'));
    for (let level = 0; level <= depth; level++) {
      id = pack.add('tree', treeEntry(level === 0 ? '100644' : '40000', name, id));
    }
    return id;
  });
}

it('a bundle of 100,000 nested folders is verified, but cannot be listed', async () => {
  await archives.write(NAME, nested(100_000, 'd'));
  expect(await archives.reader().verify('team/bomb', anyCall)).toMatchObject({
    pack_verified: true,
  });
  await expect(inspect()).rejects.toThrow('there are too many folders, or they are too deep');
});

it('a path of 4 KB names that is longer than 1 MiB is verified, but not listed', async () => {
  await archives.write(NAME, nested(500, 'd'.repeat(4_000)));
  expect(await archives.reader().verify('team/bomb', anyCall)).toMatchObject({
    pack_verified: true,
  });
  await expect(inspect()).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
});

it('the first of a million files in one folder are listed', async () => {
  await archives.write(
    NAME,
    bundleOf((pack) => {
      const blob = pack.add('blob', Buffer.from('x'));
      const id = Buffer.from(blob, 'hex').toString('latin1');
      const names = Array.from({ length: 1_000_000 }, (_, n) => `${n}`.padStart(7, '0'));
      const entries = names.map((name) => `100644 ${name}\0${id}`).join('');
      return pack.add('tree', Buffer.from(entries, 'latin1'));
    }),
  );
  expect(pathsOf(await inspect())).toEqual(['0000000', '0000001', '0000002']);
});
