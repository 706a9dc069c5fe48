import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLedger } from '../../../lib/worker/offsite/ledger.ts';
import { useTemporaryFolder } from '../../support/folders.ts';

const folder = useTemporaryFolder();

it('an entry from an earlier release recognizes its last state as its own', async () => {
  const archives = join(folder, 'archives');
  await mkdir(archives);
  const plant = (name: string, stored_sha256: string | null, rest: object = {}) =>
    writeFile(
      join(archives, `${name}.json`),
      JSON.stringify({
        ...{
          format: 1,
          archive: name,
          archive_name: name,
          last_number: 1,
          content: null,
          files: [],
        },
        ...{ state: { number: 1, key: 'k', stored_bytes: 1, stored_sha256 }, ...rest },
      }),
    );
  await plant('upgraded', 'a');
  await plant('older', null);
  await plant('current', 'c', { own_states: ['b', 'c'] });
  const ledger = openLedger(folder);
  const own = async (name: string) => (await ledger.read(name))?.own_states;
  expect(await own('upgraded')).toEqual(['a']);
  expect(await own('older')).toEqual([]);
  expect(await own('current')).toEqual(['b', 'c']);
});
