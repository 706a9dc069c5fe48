import { describe, expect, it } from 'vitest';
import { parseStoreAddress, storeId } from '../../lib/config/stores/store-address.ts';

describe('the address of a git repository', () => {
  it.each([
    ['git+https://example.org/ada/backups.git', 'https://example.org/ada/backups.git', false],
    ['git+ssh://git@example.org:22/ada/backups', 'ssh://git@example.org:22/ada/backups', false],
    ['git+http://127.0.0.1:8080/ada/backups.git', 'http://127.0.0.1:8080/ada/backups.git', false],
    ['git+file:///mnt/nas/backups.git/', '/mnt/nas/backups.git', true],
  ])('%s leads to %s', (text, location, isLocal) => {
    expect(parseStoreAddress(text)).toMatchObject({ kind: 'git', location, isLocal });
  });

  it.each([
    'git+https://ada:hunter-22@example.org/ada/backups.git',
    'git+https://hunter-22@example.org/ada/backups.git',
    'git+ssh://git:hunter-22@example.org/ada/backups.git',
    'git+http://example.org/hunter-22',
    'git+https://example.org/ada/backups.git?token=hunter-22',
    'git+https://example.org/ada/backups.git#hunter-22',
    'git+file:///mnt/nas?hunter-22',
    'git+file://hunter-22/nas',
    'git+ftp://example.org/hunter-22',
    'git+ext::hunter-22',
    'git+https://example.org/',
  ])('%s is rejected without being repeated', (text) => {
    expect(() => parseStoreAddress(text)).toThrow(/^must be like (?!.*hunter)/);
  });

  it('identifies another store than the same folder without git', () => {
    const [folder, repository] = ['file:///mnt/nas', 'git+file:///mnt/nas'].map(parseStoreAddress);
    if (folder === undefined || repository === undefined) throw new Error('there are two');
    expect(storeId(folder)).not.toBe(storeId(repository));
  });
});

it.each(['/mnt/hunter-22', '~/hunter-22', './hunter-22', '../hunter-22'])(
  'the plain path %s is rejected, with the right form for a folder',
  (text) => {
    expect(() => parseStoreAddress(text)).toThrow(
      /^must be like (?!.*hunter).*contains a plain path; write a folder as `file:\/\/\/folder`$/,
    );
  },
);
