import { describe, expect, it } from 'vitest';
import { AppError } from '../../../lib/errors.ts';
import { parseWorkerCommand } from '../../../lib/worker/command-line.ts';

const parse = (line: string) => parseWorkerCommand(line === '' ? [] : line.split(' '), '/home/ada');
const source = {
  name: 'login github',
  login: 'github:source',
  clientId: null,
  importToken: false,
  store: 'auto',
};

describe('the command line about logins', () => {
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
  ])('accepts %s', (line, command) => {
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
  ])('shows the help of %s', (line) => {
    for (const option of ['--help', '-h']) {
      const [command = ''] = line.split(' ');
      expect(parse(`${line} ${option}`)).toEqual({
        name: 'help',
        text: expect.stringContaining(`npm run worker -- ${command}`),
      });
    }
  });

  it.each([
    ['logn github', "unknown command 'logn' (Did you mean login?)\nThe commands are: "],
    ['login githb', "unknown command 'githb' (Did you mean github?)\nThe commands are: "],
    ['login', 'the command is incomplete'],
    ['login --profile source github', "unknown option '--profile'"],
    ['logout --profile source', "unknown option '--profile'"],
    ['auth --check', "unknown option '--check'"],
    ['app --force', "unknown option '--force'"],
    ['login github --profle source', "unknown option '--profle' (Did you mean --profile?)"],
    ['login github --profile destinaton', 'is invalid. Allowed choices are source, destination.'],
    ['login github --profile', 'option --profile needs a value'],
    ['login github --store disk', 'is invalid. Allowed choices are auto, file.'],
    ['login github --paste', "unknown option '--paste'"],
    ['login github --client-id', 'option --client-id needs a value'],
    ['login github --client-id a/b', 'is invalid. It must be the client id of an app.'],
    ['login github --client-id a --import-token', 'cannot be used with'],
    ['login github --import-token=x', "unknown option '--import-token'"],
    ['login gateway --profile source', "unknown option '--profile'"],
    ['app', 'the command is incomplete'],
    ['app crate', "unknown command 'crate' (Did you mean create?)\nThe commands are: "],
    ['app create --forse', "unknown option '--forse' (Did you mean --force?)"],
    ['app create --org a/b', 'is invalid. It must be the name of an organization.'],
    [`app create --name ${'n'.repeat(35)}`, 'is invalid. At most 34 characters are allowed.'],
    ['auth stats', "unknown command 'stats' (Did you mean status?)\nThe commands are: "],
    ['auth status --jsn', "unknown option '--jsn' (Did you mean --json?)"],
    ['auth token', 'the command is incomplete'],
    ['auth token github', "unknown command 'github'"],
    ['logout', 'the command is incomplete'],
    ['logout al', "unknown command 'al' (Did you mean all?)\nThe commands are: "],
    ['logout all --profile source', "unknown option '--profile'"],
  ])('rejects %s as wrong usage', (line, fault) => {
    const wrong = () => parse(line);
    expect(wrong).toThrow(AppError);
    expect(wrong).toThrow(fault);
    expect(wrong).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
  });

  it.each(['login github hunter-22', 'login hunter-22', 'login github --profile hunter-22'])(
    'does not repeat what may be a token: %s',
    (line) => {
      expect(() => parse(line)).toThrow(/^(?!.*hunter)/s);
    },
  );
});
