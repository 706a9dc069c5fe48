import { beforeEach, describe, expect, it } from 'vitest';
import { otherName } from '../../../lib/worker/archive/assign-archives.ts';
import { newJob } from '../../../lib/worker/backup/backup.ts';
import { parseLocation, type Source } from '../../../lib/worker/base/source.ts';
import { openHostAccess } from '../../../lib/worker/logins/host-access.ts';
import { describeJobs } from '../../../lib/worker/run/fleet/job-facts.ts';
import { createJobBuilder } from '../../../lib/worker/run/fleet/rebuild-source.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { factsAt, useLoginBench } from '../../support/logins.ts';

// What a member makes of database rows, which anybody may have written.

const bench = useLoginBench();
let token: string;
const none = { isDamaged: false, altered: null };
const found = { use: 'private', isPrivate: true, sizeBytes: 5, remarks: ['a fork'], fault: null };

beforeEach(async () => {
  token = makeToken('ghp');
  bench.host.state.tokens.set(token, { login: 'ada', endsAt: null, ofApp: false });
  const facts = factsAt(bench.host, { kind: 'token', client_id: null });
  await bench.store.save('github:source', { facts, secrets: { token, refresh_token: null } }, [
    'file',
  ]);
});

function build(repository: string, facts: unknown, mayPush = false) {
  const { config, store, connection } = bench;
  const access = openHostAccess({ config, store }, connection, () => undefined);
  return createJobBuilder(access, mayPush).build(repository, JSON.stringify(facts));
}
const hosted = (location: string, more: object = {}) => ({
  ...{ location, ...none },
  host: { url: bench.host.url, ...found, ...more },
});
const given = (location: string) => ({ location, host: null, ...none });

describe('a source from the git host', () => {
  it('is read with the login of this machine, from its own host', async () => {
    const { source } = await build('team/app', hosted(`${bench.host.url}/team/app.git`));
    expect(source).toMatchObject({
      ...{ name: 'team/app', location: `${bench.host.url}/team/app.git`, isLocal: false },
      ...{ protocols: 'http', host: { isPrivate: true, sizeBytes: 5, remarks: ['a fork'] } },
    });
    expect(await source.host?.token()).toBe(token);
    expect(await source.host?.explain()).toContain('access lost');
  });

  it.each([
    ['on another host', 'team/app', 'https://evil.example/team/app.git'],
    ['that merely begins like the host', 'team/app', '<host>.evil.example/team/app.git'],
    ['with credentials', 'team/app', '<host>@evil.example/team/app.git'],
    ['with more than owner and name', 'x/app', '<host>/team/x/app.git'],
    ['that escapes from its folder', '../app', '<host>/../app.git'],
    ['with another name', 'team/other', '<host>/team/app.git'],
    ['of a local folder', 'local/app', '/srv/app'],
  ])('is refused with an address %s', async (_what, name, location) => {
    const facts = hosted(location.replace('<host>', bench.host.url));
    await expect(build(name, facts)).rejects.toThrow('has an address of another host');
  });

  it('counts as private unless the host itself says that it is not', async () => {
    const location = `${bench.host.url}/team/app.git`;
    const isPrivate = async (mayPush = true) =>
      (await build('team/app', hosted(location, { isPrivate: false }), mayPush)).source.host
        ?.isPrivate;
    expect(await isPrivate(false)).toBe(false);
    expect(await isPrivate()).toBe(true);
    bench.host.addRepository({ fullName: 'team/app', private: true });
    expect(await isPrivate()).toBe(true);
    bench.host.addRepository({ fullName: 'team/app' });
    expect(await isPrivate()).toBe(false);
  });

  it('keeps the reason why it cannot be backed up', async () => {
    const fault = 'its name on the git host is not valid';
    const { source } = await build('a/../b', hosted(`${bench.host.url}/.git`, { fault }));
    expect(source).toMatchObject({ name: 'a/../b', host: { fault } });
  });
});

describe('a source from the command line', () => {
  it('may have another name, if its own belongs to another address', async () => {
    const { source } = await build('ada/app', given('https://git.example/ada/app.git'));
    expect(source).toMatchObject({ name: 'ada/app', host: null, protocols: 'https:ssh:file' });
    const location = 'https://git.example/ada/app.git';
    const other = otherName('ada/app', location);
    expect(other).toMatch(/^ada\/app--[0-9a-f]{8}$/);
    expect((await build(other, given(location))).source.name).toBe(other);
    const wrong = build(`${other.slice(0, -1)}x`, given(location));
    await expect(wrong).rejects.toThrow('its job has another name');
  });

  it.each([
    ['/srv/app', 'address of another machine'],
    ['file:///srv/app', 'address of another machine'],
    ['http://127.0.0.1:8000/ada/app.git', 'address of another machine'],
    ['ssh://git@localhost/ada/app.git', 'address of another machine'],
    ['http://git.example/ada/app.git', 'unencrypted protocol http'],
    ['https://me:secret@git.example/ada/app.git', 'contains credentials'],
    ['ext::sh -c id', 'transport helper'],
    ['--upload-pack=id', 'address of another machine'],
  ])('is refused with the address %s', async (location, why) => {
    await expect(build('ada/app', given(location))).rejects.toThrow(why);
  });
});

it.each([['{"location":1}'], ['[]'], ['{"location":"https://a.example/b/c","token":"x"}']])(
  'a job is refused with facts like %s',
  async (text) => {
    await expect(build('a/b', JSON.parse(text))).rejects.toThrow('its job is not valid');
  },
);

describe('the rows of a run', () => {
  const rowsOf = (...sources: Source[]) =>
    describeJobs({ jobs: sources.map((source) => newJob(source, none)), durations: new Map() }, []);

  it('mark folders and addresses that only this machine can read', () => {
    const rows = rowsOf(
      parseLocation('/srv/app', '/'),
      parseLocation('http://localhost:3000/ada/app.git', '/'),
      parseLocation('https://git.example/ada/app.git', '/'),
    );
    expect(rows.map(({ isOwn }) => isOwn)).toEqual([true, true, false, false]);
    expect(rows.at(-1)).toMatchObject({ kind: 'end', repository: '' });
  });

  it('are read back as they were written', async () => {
    const source = parseLocation('git@git.example:ada/app.git', '/');
    const [row] = describeJobs(
      { jobs: [newJob(source, { isDamaged: true, altered: 'x' })], durations: new Map() },
      [],
    );
    const job = await build('ada/app', JSON.parse(row?.facts ?? ''));
    expect(job).toEqual(newJob(source, { isDamaged: true, altered: 'x' }));
  });
});
