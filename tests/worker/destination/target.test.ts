import { describe, expect, it } from 'vitest';
import { parseStoreAddress } from '../../../lib/config/stores/store-address.ts';
import { readTarget, repositoriesOn } from '../../../lib/worker/offsite/destination/target.ts';

const read = (address: string) => {
  const target = readTarget(address, '/home/ada');
  if (target === null) throw new Error('there is no target');
  return target;
};

describe('a destination', () => {
  it('is null if no address is set', () => {
    expect(readTarget(undefined, '/home/ada')).toBeNull();
  });

  it.each([
    ['https://github.com/ada/backups.git', 'https', 'github.com', 'ada/backups'],
    ['https://GitHub.com:443/ada/backups', 'https', 'github.com', 'ada/backups'],
    ['http://127.0.0.1:80/ada/backups.git', 'https', '127.0.0.1', 'ada/backups'],
    ['ssh://git@github.com:2222/ada/backups.git', 'ssh', 'github.com', 'ada/backups'],
    ['git@github.com:ada/backups.git', 'ssh', 'github.com', 'ada/backups'],
    ['github.com:ada/backups', 'ssh', 'github.com', 'ada/backups'],
    ['https://github.com/ada/deep/backups', 'https', 'github.com', null],
    ['git@github.com:backups', 'ssh', 'github.com', null],
    ['/srv/backups.git', 'local', null, null],
    ['file:///srv/backups.git', 'local', null, null],
  ])('at %s is recognised as %s', (address, kind, hostname, repository) => {
    expect(read(address)).toMatchObject({ kind, hostname, repository });
  });

  it('is resolved against the folder of the command', () => {
    expect(read('backups').location).toBe('/home/ada/backups');
  });

  it.each([
    'http://github.com/ada/backups',
    'https://ada:pass-word@github.com/ada/backups',
    'https://github.com/ada/backups?token=pass-word',
    'git://github.com/ada/backups',
    'ext::sh -c pass-word',
  ])('at %s is rejected with a message that names only the variable', (address) => {
    const reading = () => read(address);
    expect(reading).toThrow(/^BACKUP_REPO_PATH /);
    expect(reading).not.toThrow(/pass-word/);
  });

  it('is matched to the git host by its host name', () => {
    const on = (address: string) =>
      repositoriesOn('https://github.com', read(address), [])[0] ?? null;
    expect(on('git@GitHub.com:Ada/Backups.git')).toBe('ada/backups');
    expect(on('https://example.org/ada/backups')).toBeNull();
    expect(on('/srv/backups.git')).toBeNull();
    const stores = [parseStoreAddress('git+https://github.com/Ada/Vault.git')];
    expect(repositoriesOn('https://github.com', null, stores)).toEqual(['ada/vault']);
  });
});
