import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/platform/database/database.ts';
import {
  createEmbedded,
  createNeon,
  createPostgres,
  type TestDatabase,
} from '../support/databases.ts';
import { empty, insertFix, insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { ask, find, insertAnswer } from '../support/search.ts';

// Full text alone, over every driver: there is no generation here.

describe.each([
  ['the embedded database', createEmbedded],
  ['Postgres', createPostgres],
  ['Neon over HTTP', createNeon],
])('full text over %s', (_name, create) => {
  let database: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    database = await create();
    db = database.db;
  });
  afterAll(() => database.close());
  afterEach(async () => {
    await empty(db);
    await sql(db, 'TRUNCATE chat_messages RESTART IDENTITY');
  });

  const log = (message: string, repository: string | null = null) =>
    insertLog(db, { message, repository });

  it.each([
    ['a word', 'warning', 'a Warning about the disk'],
    ['an error code', 'ECONNRESET', 'read ECONNRESET after 3 attempts'],
    ['an exit status', 'exit status 128', 'git ended: exit status 128'],
    ['a quoted exit status', '"exit status 128"', 'git ended: exit status 128'],
    ['a name', 'owner/repo-name', 'cloned owner/repo-name.'],
    [
      'a name in an address',
      'owner/repo-name',
      'fetching https://git.example/owner/repo-name.git:',
    ],
    ['the end of a name', 'repo-name', 'cloned owner/repo-name'],
    ['a part of a name', 'name', 'cloned owner/repo-name'],
    ['a path', '/var/lib/archives/site.bundle', "wrote '/var/lib/archives/site.bundle'"],
    ['a file name', 'site.bundle', 'wrote /var/lib/archives/site.bundle'],
    ['a ref', 'refs/heads/main', 'moved refs/heads/main to abc'],
    ['an option', '--depth', 'git clone --depth=1'],
    ['an address', '10.0.0.17', 'no route to 10.0.0.17:443'],
    ['another form of a word', 'failing', 'the clone failed'],
    ['another form within a name', 'repositories', 'state of repository-12'],
    ['the beginning of a word', 'unauth', 'the token is unauthorized'],
    ['the beginning of a name', 'owner/rep', 'cloned owner/repo-name'],
    ['a word between marks', 'timeout', '<timeout> (30s)'],
    ['a word that english leaves out', 'about', 'about'],
    ['a word of another language', 'über', 'Über das Netz'],
    ['one of two words', 'missing or ECONNRESET', 'read ECONNRESET'],
  ])('finds %s', async (_what, query, message) => {
    await log('something else altogether');
    const id = await log(message);
    await log('and nothing like it');
    expect(await find(db, query)).toEqual([`execution_log ${id}`]);
  });

  it.each([
    ['4e1243ab99887766554433221100ffeeddccbbaa', '4e1243ab'],
    ['4e1243ab99887766554433221100ffeeddccbbaa', '4e1243ab99887766554433221100ffeeddccbbaa'],
    ['0123456789abcdef0123456789abcdef01234567', '01234567'],
    ['abcdef0123456789abcdef0123456789abcdef01', 'abcdef0'],
    ['99e9f0a1b2c3d4e5f60718293a4b5c6d7e8f9012', '99e9f0a1b'],
  ])('finds the result of commit %s by %s', async (commit_hash, prefix) => {
    const run = await insertRun(db);
    await insertResult(db, run, 'a/b', { commit_hash: 'f00dfeedf00dfeedf00dfeedf00dfeedf00dfeed' });
    const id = await insertResult(db, run, 'a/c', { commit_hash });
    expect(await find(db, prefix)).toEqual([`backup_result ${id}`]);
  });

  it('finds a log by its repository as well as its message', async () => {
    await log('cloned', 'other/thing');
    const id = await log('cloned', 'acme/site');
    expect(await find(db, 'acme/site')).toEqual([`execution_log ${id}`]);
    expect(await find(db, 'site cloned')).toEqual([`execution_log ${id}`]);
  });

  it('finds results by name, status and error, fixes by title and text, answers by their words', async () => {
    const run = await insertRun(db);
    const result = await insertResult(db, run, 'acme/site', {
      status: 'too_large',
      error_message: 'quota of the host',
    });
    const fix = await insertFix(db, [run], { title: 'Raise limits', description: 'postBuffer' });
    const answer = await insertAnswer(db, 'ada', 'why?', 'the certificate had expired');
    expect(await find(db, 'acme/site')).toEqual([`backup_result ${result}`]);
    expect(await find(db, 'too_large')).toEqual([`backup_result ${result}`]);
    expect(await find(db, 'quota')).toEqual([`backup_result ${result}`]);
    expect(await find(db, 'postBuffer')).toEqual([`backup_fix ${fix}`]);
    expect(await find(db, 'certificates expire')).toEqual([`investigation ${answer}`]);
  });

  it('wants every word, leaves out what is excluded, and a phrase in its order', async () => {
    const both = await log('the clone of a timed out host');
    await log('the clone ended');
    await log('out timed');
    expect(await find(db, 'clone timed')).toEqual([`execution_log ${both}`]);
    expect(await find(db, 'clone -ended')).toEqual([`execution_log ${both}`]);
    expect(await find(db, '"timed out"')).toEqual([`execution_log ${both}`]);
  });

  it('puts exact hits before parts of names, and the newest first among equals', async () => {
    const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
    const newer = await insertLog(db, { message: 'site down', created_at: at(9) });
    const older = await insertLog(db, { message: 'site down', created_at: at(3) });
    const part = await insertLog(db, { message: 'acme/site-one down', created_at: at(12) });
    await insertLog(db, { message: 'sitemap down', created_at: at(13) });
    expect(await find(db, 'site down')).toEqual(
      [newer, older, part].map((id) => `execution_log ${id}`),
    );
  });

  it('takes a word for a beginning only where no row has it', async () => {
    const id = await log('clone of sitemap');
    await log('push of sitemap');
    const exact = await log('site');
    expect(await find(db, 'site')).toEqual([`execution_log ${exact}`]);
    expect(await find(db, 'clone sitem')).toEqual([`execution_log ${id}`]);
  });

  it('takes words for beginnings in queries of up to eight words', async () => {
    const id = await log('one two three four five six seven sitemap of all');
    const eight = 'one two three four five six seven sitem';
    expect(await find(db, eight)).toEqual([`execution_log ${id}`]);
    expect(await find(db, `${eight} all`)).toEqual([]);
  });

  it('finds nothing that is of other source types', async () => {
    await log('a certificate');
    expect(await find(db, 'certificate', { sourceTypes: ['backup_result'] })).toEqual([]);
  });

  it("finds a user's own investigations alone, unless it is for all", async () => {
    const own = await insertAnswer(db, 'ada', '?', 'the certificate');
    const other = await insertAnswer(db, "o'brien", '?', 'the certificate');
    expect(await find(db, 'certificate', { investigationsOf: 'ada' })).toEqual([
      `investigation ${own}`,
    ]);
    expect(await find(db, 'certificate', { investigationsOf: "o'brien" })).toEqual([
      `investigation ${other}`,
    ]);
    expect(await find(db, 'certificate')).toHaveLength(2);
  });

  it('finds rare rows far down behind wide holes in the ids', async () => {
    await sql(db, "INSERT INTO execution_logs (id, message) VALUES (5, 'a zeppelin')");
    await sql(db, "INSERT INTO execution_logs (id, message) VALUES (900000000000, 'a balloon')");
    expect(await find(db, 'zeppelin')).toEqual(['execution_log 5']);
    expect(await find(db, 'zepp')).toEqual(['execution_log 5']);
  });

  it('stores and finds logs of any length and content', async () => {
    const long = Array.from({ length: 60_000 }, (_, n) => `w${n}`).join(' ');
    const id = await log(`begins ${long}`);
    await log(`${'x'.repeat(200_000)} ${'/'.repeat(5_000)}`);
    expect(await find(db, 'begins w77')).toEqual([`execution_log ${id}`]);
  });

  it('answers any text', async () => {
    await log('something');
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 60 }), async (query) => {
        await expect(ask(db, query)).resolves.toHaveProperty('results');
      }),
      { numRuns: 25 },
    );
    for (const query of [`' OR 1=1 --`, ':* & !', "\\'", '(((', '<->', 'a:*b', '"\'"', '%_\\']) {
      await expect(ask(db, query)).resolves.toHaveProperty('results');
    }
  });
});
