import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSharedFolder } from '../support/folders.ts';
import { describeSkipped, readOptionalPrograms } from '../support/skipped-reporter.ts';

// What `npm test` says last about tests that were skipped.

const folder = useSharedFolder();

async function install(names: readonly string[]): Promise<string> {
  for (const name of names) {
    await writeFile(join(folder, name), '');
    await chmod(join(folder, name), 0o755);
  }
  return [folder, '/nowhere'].join(delimiter);
}

describe('at the end of a run', () => {
  it('nothing is said when no test was skipped', () => {
    expect(describeSkipped([], '')).toEqual([]);
  });

  it('the missing programs are named, with the one command that installs them', () => {
    const lines = describeSkipped(['one', 'two'], '/nowhere');
    expect(lines[0]).toContain(
      '2 tests were skipped, because this machine lacks redis-server (Redis), ',
    );
    expect(lines.at(-1)).toMatch(
      /^ {2}sudo apt-get install -y redis-server dbus gnome-keyring postgresql-client chromium-headless-shell age awscli nginx-light/,
    );
  });

  it('a program that is there, or another that will do, is not named', async () => {
    const names = readOptionalPrograms().map(({ names }) => names.at(-1) ?? '');
    const path = await install(names.filter((name) => name !== 'redis-server'));
    const lines = describeSkipped(['one'], path);
    expect(lines[0]).toContain(
      '1 test was skipped, because this machine lacks redis-server (Redis)',
    );
    expect(lines.join('\n')).not.toContain('chromium');
    expect(lines.at(-1)).toMatch(/^ {2}sudo apt-get install -y redis-server(?: &&|$)/);
  });
});
