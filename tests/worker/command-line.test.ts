import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { parseSource } from '../../lib/worker/base/source.ts';
import { parseWorkerCommand } from '../../lib/worker/command-line.ts';

const parse = (...args: string[]) => parseWorkerCommand(args, '/home/ada');
const faultOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof AppError && error.code === 'BAD_REQUEST') return error.message;
    throw error;
  }
  throw new Error('it was accepted');
};

describe('a command line', () => {
  it.each([[['--help']], [['-h']], [['help']], [['run', '--help']], [['run', '-h', '--once']]])(
    'shows help for %j',
    (args) => {
      expect(parse(...args)).toEqual({ name: 'help', text: expect.stringContaining('--help') });
    },
  );

  it('run takes sources, and runs once by default', () => {
    expect(parse('run', '--source', 'a', '--source=/b')).toEqual({
      name: 'run',
      sourceIds: null,
      everyMs: null,
      schedule: null,
      isRequested: false,
      only: null,
      exclude: null,
      isShared: false,
      isDryRun: false,
      mayStartOver: false,
      isJson: false,
      sources: [
        expect.objectContaining({ name: 'local/a', location: '/home/ada/a' }),
        expect.objectContaining({ name: 'local/b', location: '/b' }),
      ],
    });
    expect(parse('run', '--source', 'a', '--once')).toMatchObject({ everyMs: null });
    expect(parse('run')).toMatchObject({ name: 'run', everyMs: null, sources: null });
  });

  it('run does what a schedule or requests say, but nothing else with them', () => {
    expect(parse('run', '--schedule', '7')).toMatchObject({ schedule: 7, isRequested: false });
    expect(parse('run', '--requested')).toMatchObject({ schedule: null, isRequested: true });
    expect(() => parse('run', '--schedule', '0')).toThrow(/id of a schedule/);
    expect(() => parse('run', '--schedule', '7', '--requested')).toThrow(/cannot be used with/);
    expect(() => parse('run', '--requested', '--only', 'a')).toThrow(/cannot be used with/);
  });

  it('run takes some of the sources by their ids, but not together with others', () => {
    expect(parse('run', '--source-id', '7', '--source-id=-3')).toMatchObject({
      sources: null,
      sourceIds: [7, -3],
    });
    expect(faultOf(() => parse('run', '--source-id', 'x'))).toContain('the id of a source');
    expect(faultOf(() => parse('run', '--source-id', '7', '--source', 'a'))).toContain('--source');
  });

  it('run takes patterns of repositories to include and exclude', () => {
    expect(parse('run', '--only', 'team/*', '--only=web-?', '--exclude', '{a,b}')).toMatchObject({
      only: ['team/*', 'web-?'],
      exclude: ['{a,b}'],
    });
    expect(parse('run', '--dry-run')).toMatchObject({ isDryRun: true });
  });

  it('run joins the run of other workers, but not as a dry run', () => {
    expect(parse('run', '--join')).toMatchObject({ isShared: true, sources: null });
    expect(parse('run', '--join', '--every', '5')).toMatchObject({ isShared: true });
    expect(faultOf(() => parse('run', '--join', '--dry-run'))).toContain('--dry-run');
  });

  it.each([
    ['2', 120_000],
    ['0.5', 30_000],
  ])('reads --every %s as a pause of %d ms', (minutes, everyMs) => {
    expect(parse('run', '--source', 'a', '--every', minutes)).toMatchObject({ everyMs });
  });

  it.each([
    [['rnu'], /^unknown command 'rnu' \(Did you mean run\?\)\nThe commands are: run, .*forget/],
    [['frobnicate'], /^unknown command 'frobnicate'\nThe commands are: run, /],
    [['store', 'chekc'], /^unknown command 'chekc' .*\nThe commands are: check, copy, /],
    [['--hepl'], "unknown option '--hepl' (Did you mean --help?)"],
    [['run', '--sorce', 'a'], "unknown option '--sorce' (Did you mean --source?)"],
    [['run', '--source', 'a', '--evry=5'], /^unknown option '--evry' \(Did you mean --every\?\)$/],
    [['run', '-x'], "unknown option '-x'"],
    [['run', '--constructor'], "unknown option '--constructor'"],
    [['run', '--toString', 'a'], "unknown option '--toString'"],
    [['run', '--source', '--once'], 'option --source needs a value; write --source=…'],
    [['run', '--source', '-x'], 'option --source needs a value; write --source=…'],
    [['run', '--every', '--once', '--source', 'a'], 'option --every needs a value'],
    [['run', '--source', 'a', '--source', './a'], 'the source local/a is given twice'],
    [
      ['run', '--source', 'git@h:o/r', '--source', 'ssh://git@H/o/R.git'],
      'the source o/R is given twice',
    ],
    [
      ['run', '--source', 'https://h/o/r', '--source', 'https://h/O/r'],
      'the source O/r is given twice, as https://h/o/r and https://h/O/r: git hosts ignore letter case',
    ],
    [['run', '--source'], 'option --source needs a value'],
    [['run', '--source='], 'option --source needs a value'],
    [['run', '--source', 'a', '--once=hunter'], /^unknown option '--once'$/],
    [['run', 'https://u:hunter@h/o/r'], /^too many arguments for 'run'\. .* but got 1$/],
    [['run', '--source', 'a', '--every', '0'], 'It must be a number of minutes above 0'],
    [['run', '--source', 'a', '--every', '-1'], '--every'],
    [['run', '--source', 'a', '--every', '1e3'], 'It must be a number of minutes above 0'],
    [
      ['run', '--source', 'a', '--every', "hunter' is"],
      /^option '--every <minutes>' is invalid\. It/,
    ],
    [['run', '--source', 'a', '--once', '--every', '5'], 'cannot be used with'],
    [['run', '--dry-run', '--every', '5'], 'cannot be used with'],
    [['run', '--only', '+(hunter)'], 'A pattern may only use *, ?, […] and {a,b} as wildcards'],
    [['run', '--only', 'hunter*'.repeat(30)], 'A pattern must have 1 to 200 characters'],
    [['run', '--exclude', 'h*u*n*ter*'], 'A pattern may have at most 3 * in each part'],
    [['run', '--exclude', '{a}{b}{hunter}'], 'A pattern may have at most 2 {'],
    [['run', '--exclude='], 'option --exclude needs a value'],
    [["it's hunter"], /^unknown command\nThe commands are: run, /],
    [['hunter2-of-0123456789'], /^unknown command\nThe commands are: run, /],
    [[], /^the command is incomplete\n\nUsage: npm run worker --/],
  ])('rejects %j as wrong usage, without repeating a value', (args, fault) => {
    const message = faultOf(() => parse(...args));
    expect(message).toMatch(fault);
    expect(message).not.toContain('hunter');
  });
});

// Quadratic time would mean hours, and the test would not end.
it('a very long wrong argument is rejected in linear time', () => {
  expect(faultOf(() => parse('run', 'x'.repeat(2 ** 21)))).toContain('too many arguments');
});

describe('a source', () => {
  it.each([
    ['https://example.org/team/app.git', 'team/app', 'https://example.org/team/app.git'],
    ['https://example.org/group/team/app/', 'team/app', 'https://example.org/group/team/app/'],
    ['https://example.org/team/my%20app', 'team/my app', 'https://example.org/team/my%20app'],
    ['https://example.org/app.git', 'example.org/app', 'https://example.org/app.git'],
    ['ssh://git@example.org:22/team/app.git', 'team/app', 'ssh://git@example.org:22/team/app.git'],
    ['git@example.org:team/app.git', 'team/app', 'git@example.org:team/app.git'],
    ['example.org:app', 'example.org/app', 'example.org:app'],
    ['http://127.0.0.1:8080/team/app', 'team/app', 'http://127.0.0.1:8080/team/app'],
    ['git://localhost/team/app', 'team/app', 'git://localhost/team/app'],
    ['file:///srv/git/app.git', 'local/app', '/srv/git/app.git'],
    ['/srv/git/app.git/', 'local/app', '/srv/git/app.git'],
    ['/srv/app/.git', 'local/app', '/srv/app'],
    ['./-dash', 'local/-dash', '/home/ada/-dash'],
    ['git@git:team/app', 'team/app', 'git@git:team/app'],
    ['./https:app', 'local/https:app', '/home/ada/https:app'],
    ['/srv/team@home/app', 'local/app', '/srv/team@home/app'],
    ['.', 'local/ada', '/home/ada'],
    ['./odd:name', 'local/odd:name', '/home/ada/odd:name'],
  ])('given as %s is called %s', (text, name, location) => {
    const source = parseSource(text, '/home/ada');
    expect({ ...source, location: source.location.replace(/\/\.git$/, '') }).toMatchObject({
      name,
      location,
    });
  });

  it.each([
    ['https://ada:hunter-2@example.org/team/app', 'credentials'],
    ['https://hunter-2@example.org/team/app', 'credentials'],
    ['ssh://git:hunter-2@example.org/team/app', 'credentials'],
    ['ada:hunter-2@example.org:team/app', 'credentials'],
    ['https:/ada:hunter-2@example.org/team/app', 'looks like a URL'],
    ['HTTPS:ada:hunter-2@example.org/team/app', 'looks like a URL'],
    [' https://ada:hunter-2@example.org/team/app', 'looks like a URL'],
    ['"https://ada:hunter-2@example.org/team/app"', 'looks like a URL'],
    ['http:/hunter-2@example.org/team/app', 'looks like a URL'],
    ['ssh:/git:hunter-2@example.org/team/app', 'looks like a URL'],
    ['git:/hunter-2/app', 'looks like a URL'],
    ['file:/home/hunter-2', 'looks like a URL'],
    ['ftp:/ada:hunter-2@example.org/team/app', 'looks like a URL'],
    ['svn+ssh:/ada:hunter-2@example.org/team/app', 'looks like a URL'],
    ['htps:/ada:hunter-2@example.org/team/app', 'credentials'],
    ['git@example.org://ada:hunter-2@example.org/team/app', 'credentials'],
    ['see https://ada:hunter-2@example.org/team/app', 'credentials'],
    ['https://example.org/team/app?token=hunter-2', 'a query'],
    ['http://example.org/team/app', 'unencrypted protocol http'],
    ['git://example.org/team/app', 'unencrypted protocol git'],
    ['http://127.0.0.1.example.org/team/app', 'unencrypted protocol http'],
    ['ftp://example.org/team/app', 'the protocol ftp'],
    ['ext::sh -c touch% /tmp/hunter-2', 'a transport helper'],
    ['ssh://-oProxyCommand=hunter-2/team/app', 'host'],
    ['-oProxyCommand=x@example.org:app', 'host'],
    ['https://example.org/', 'has no repository name'],
    ['https://example.org/team/%2e%2e', 'has no repository name'],
    ['https://example.org/team/a%00b', 'control characters'],
    ['https://example.org/team/%ff', 'not a valid URL'],
    ['https://[hunter-2/', 'not a valid URL'],
    ['a\u0000b', 'control characters'],
    ['/', 'no folder name'],
  ])('given as %s is rejected without being repeated', (text, fault) => {
    const message = faultOf(() => parseSource(text, '/home/ada'));
    expect(message).toContain(fault);
    expect(message).not.toContain('hunter-2');
  });

  it('given with an equals sign may start with a dash', () => {
    expect(parse('run', '--source=-x')).toMatchObject({
      sources: [{ name: 'local/-x', location: '/home/ada/-x' }],
    });
  });

  it('may use only encrypted or local protocols, except on loopback', () => {
    expect(parseSource('https://example.org/a/b', '/').protocols).toBe('https:ssh:file');
    expect(parseSource('http://localhost/a/b', '/').protocols).toBe('https:ssh:file:http:git');
  });
});
