import { describe, expect, it } from 'vitest';
import { AppError } from '../../../lib/platform/errors.ts';
import { parseCommand } from '../../../lib/worker/arguments.ts';

const parse = (line: string) => parseCommand(line === '' ? [] : line.split(' '), '/home/ada');
const source = {
  name: 'login github',
  login: 'github:source',
  clientId: null,
  importToken: false,
  store: 'auto',
};

describe('a command line about logins', () => {
  it.each([
    ['login github', source],
    ['login github --profile source --store auto', source],
    ['login github --profile destination', { ...source, login: 'github:destination' }],
    ['login github --client-id Iv1.a', { ...source, clientId: 'Iv1.a' }],
    ['login github --import-token --store=file', { ...source, importToken: true, store: 'file' }],
    ['login gateway', { name: 'login gateway', paste: false, store: 'auto' }],
    ['login gateway --paste --store file', { name: 'login gateway', paste: true, store: 'file' }],
    ['app create', { name: 'app create', appName: null, organization: null, force: false }],
    [
      'app create --name N --org team --force',
      { name: 'app create', appName: 'N', organization: 'team', force: true },
    ],
    ['auth status', { name: 'auth status', check: false, json: false }],
    ['auth status --check --json', { name: 'auth status', check: true, json: true }],
    ['auth token gateway', { name: 'auth token gateway' }],
    ['logout github', { name: 'logout', login: 'github:source' }],
    ['logout github --profile destination', { name: 'logout', login: 'github:destination' }],
    ['logout gateway', { name: 'logout', login: 'gateway:default' }],
    ['logout all', { name: 'logout', login: 'all' }],
  ])('%s is understood', (line, command) => {
    expect(parse(line)).toEqual(command);
  });

  it.each([
    'login',
    'login github',
    'login gateway',
    'app',
    'app create',
    'auth',
    'auth status',
    'auth token',
    'auth token gateway',
    'logout',
    'logout github',
    'logout gateway',
    'logout all',
  ])('%s takes --help', (line) => {
    for (const option of ['--help', '-h']) {
      const [command = ''] = line.split(' ');
      expect(parse(`${line} ${option}`)).toEqual({
        name: 'help',
        text: expect.stringContaining(`npm run worker -- ${command}`),
      });
    }
  });

  it.each([
    ['logn github', 'unknown command logn; did you mean login?'],
    ['login githb', 'unknown service to log in to githb; did you mean github?'],
    ['login', 'the command is not complete'],
    ['login --profile source github', 'what it is about comes before options'],
    ['login --prfile source', 'unknown option --prfile; did you mean --profile?'],
    ['logout --profile source', 'the command is not complete'],
    ['auth --check', 'the command is not complete'],
    ['app --force', 'the command is not complete'],
    ['login github --profle source', 'unknown option --profle; did you mean --profile?'],
    [
      'login github --profile destinaton',
      '--profile takes source or destination; did you mean dest',
    ],
    ['login github --profile', '--profile needs a value'],
    ['login github --store disk', '--store takes auto or file'],
    ['login github --paste', 'unknown option --paste'],
    ['login github --client-id', '--client-id needs a value'],
    ['login github --client-id a/b', '--client-id takes the client id of an app'],
    ['login github --client-id a --import-token', 'exclude each other'],
    ['login github --import-token=x', '--import-token takes no value'],
    ['login gateway --profile source', 'unknown option --profile'],
    ['app', 'the command is not complete'],
    ['app crate', 'unknown app command crate; did you mean create?'],
    ['app create --forse', 'unknown option --forse; did you mean --force?'],
    ['app create --org a/b', '--org takes the name of an organization'],
    [`app create --name ${'n'.repeat(35)}`, '--name takes at most 34 characters'],
    ['auth stats', 'unknown auth command stats; did you mean status?'],
    ['auth status --jsn', 'unknown option --jsn; did you mean --json?'],
    ['auth token', 'the command is not complete'],
    ['auth token github', 'unknown token github'],
    ['logout', 'the command is not complete'],
    ['logout al', 'unknown login to remove al; did you mean all?'],
    ['logout all --profile source', 'unknown option --profile'],
  ])('%s is wrong usage', (line, fault) => {
    const wrong = () => parse(line);
    expect(wrong).toThrow(AppError);
    expect(wrong).toThrow(fault);
    expect(wrong).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
  });

  it('does not repeat an argument too many, which may be a token', () => {
    expect(() => parse('login github hunter-22')).toThrow(
      /^there is an argument too many; see --help$/,
    );
  });
});
