import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createEmbedded, createNeon, createPostgres } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  empty,
  insertFix,
  insertLog,
  insertResult,
  insertRun,
  sql,
  truncate,
} from '../support/records.ts';
import { ask, find, insertAnswer } from '../support/search.ts';

// Full text alone, over every driver, without a generation.

describe.each([
  ['the embedded database', createEmbedded],
  ['Postgres', createPostgres],
  ['Neon over HTTP', createNeon],
])('full text over %s', (_name, create) => {
  const database = useDatabase(create);
  let db: Database;

  beforeAll(async () => {
    db = database.db;
  });
  afterEach(async () => {
    await empty(db);
    await truncate(db, 'chat_messages');
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
    ['a German word', 'über', 'Über das Netz'],
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
    expect((await find(db, 'site cloned'))[0]).toBe(`execution_log ${id}`);
  });

  it('finds results by name, status and error, fixes by title and text, and answers by their words', async () => {
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

  it('leaves out excluded words, and finds a phrase only in its order', async () => {
    const both = await log('the clone of a timed out host');
    await log('the clone ended');
    await log('out timed');
    expect(await find(db, 'clone -ended')).toEqual([`execution_log ${both}`]);
    expect(await find(db, 'the -ended -"out timed"')).toEqual([`execution_log ${both}`]);
    expect(await find(db, '"timed out"')).toEqual([`execution_log ${both}`]);
  });

  it.each([
    ['words', '"clone push"', 'Clone push', 'clone of a push'],
    ['words with marks between them', '"clone push"', 'clone: (push)', 'clone, then push'],
    ['parts of a name', '"repo-name done"', 'acme/repo-name done', 'done repo-name'],
    [
      'letters of other languages',
      '"Zugriff für Ørsted"',
      'ZUGRIFF FÜR ØRSTED',
      'für Ørsted Zugriff',
    ],
    ['other forms of words', '"clones failed"', 'clone fails', 'fails to clone'],
  ])('finds a phrase of %s', async (_what, query, message, other) => {
    await log(other);
    const id = await log(message);
    expect(await find(db, query)).toEqual([`execution_log ${id}`]);
  });

  it('lists results with all words first, then those with most of them, newest first', async () => {
    const older = await log('empty: no branches to archive');
    const newer = await log('empty: nothing to archive');
    await log('something else');
    const all = await log('two empty repositories');
    await log('also something else');
    expect(await find(db, 'empty repositories')).toEqual(
      [all, newer, older].map((id) => `execution_log ${id}`),
    );
    expect(await find(db, 'empty repositories', { limit: 1 })).toEqual([`execution_log ${all}`]);
  });

  it('ranks rows by how few words they lack, and leaves out those that lack most', async () => {
    const two = await log('checksum mismatch');
    const three = await log('checksum mismatch, archive kept');
    await log('checksum');
    const query = 'checksum mismatch archive yesterday';
    expect(await find(db, query)).toEqual([three, two].map((id) => `execution_log ${id}`));
  });

  it('never lets a phrase be missing or an excluded word be present', async () => {
    const id = await log('the clone timed out');
    await log('the clone timed nobody out');
    await log('the clone timed out again');
    expect(await find(db, 'clone "timed out" zeppelin -again')).toEqual([`execution_log ${id}`]);
  });

  it('lets words be missing in each of several alternatives', async () => {
    const one = await log('checksum mismatch');
    const other = await log('certificate expired');
    expect(await find(db, 'checksum zeppelin or certificate balloon')).toEqual(
      [other, one].map((id) => `execution_log ${id}`),
    );
  });

  it('reports when time runs out before all rows are searched, but always searches the newest', async () => {
    await sql(db, "INSERT INTO execution_logs (id, message) VALUES (5, 'the clone failed')");
    await sql(db, "INSERT INTO execution_logs (id, message) VALUES (9000, 'the clone ended')");
    const request = { semanticWeight: 0, limit: 2 };
    const cut = await ask(db, 'clone', { ...request, budgetMs: 0 });
    expect(cut.results.map(({ id }) => id)).toEqual([9000]);
    expect(cut.degraded_reason).toMatch(/cut short/);
    const whole = await ask(db, 'clone', request);
    expect(whole).toMatchObject({ total: 2, degraded_reason: null });
  });

  it('checks only as many rows for a phrase as there is time for, however long they are', async () => {
    const filler = Array.from({ length: 3_500 }, (_, n) => `word${n}`).join(' ');
    await sql(
      db,
      `INSERT INTO execution_logs (message)
       SELECT 'cloning ' || n || $1 || ' pushes' FROM generate_series(1, 40) AS n`,
      [filler],
    );
    const { degraded_reason } = await ask(db, '"clone push"', { semanticWeight: 0, budgetMs: 40 });
    expect(degraded_reason).toMatch(/cut short/);
  });

  it('finds nothing by the artificial words of documents', async () => {
    await log('the clone failed');
    for (const query of ['zfi', 'zfinez', 'zcoar', 'zcoarsez']) {
      expect(await find(db, query)).toEqual([]);
    }
  });

  it('ranks exact matches before parts of names, and the newest first among equals', async () => {
    const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
    const newer = await insertLog(db, { message: 'site down', created_at: at(9) });
    const older = await insertLog(db, { message: 'site down', created_at: at(3) });
    const part = await insertLog(db, { message: 'acme/site-one down', created_at: at(12) });
    await insertLog(db, { message: 'sitemap down', created_at: at(13) });
    expect(await find(db, 'site down')).toEqual(
      [newer, older, part].map((id) => `execution_log ${id}`),
    );
  });

  it('treats a word as a prefix only if no row contains it', async () => {
    const id = await log('clone of sitemap');
    await log('push of sitemap');
    const exact = await log('site');
    expect(await find(db, 'site')).toEqual([`execution_log ${exact}`]);
    expect(await find(db, 'clone sitem')).toEqual([`execution_log ${id}`]);
  });

  it('treats words as prefixes in queries of up to eight words', async () => {
    const id = await log('one two three four five six seven sitemap of all');
    expect(await find(db, 'one two three four five six seven sitem')).toEqual([
      `execution_log ${id}`,
    ]);
    const eight = 'b1 or b2 or b3 or b4 or b5 or b6 or b7 or sitem';
    expect(await find(db, eight)).toEqual([`execution_log ${id}`]);
    expect(await find(db, `${eight} or b9`)).toEqual([]);
  });

  it('finds nothing of other source types', async () => {
    await log('a certificate');
    expect(await find(db, 'certificate', { sourceTypes: ['backup_result'] })).toEqual([]);
  });

  it("finds only a user's own investigations, unless the search is for all users", async () => {
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

  it('finds rare old rows despite large gaps in the ids', async () => {
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

  it('accepts any text', async () => {
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
