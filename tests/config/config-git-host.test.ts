import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFolder, gitApiUrl, gitHostVariables } from '../../lib/config/git-host.ts';
import { localVariables } from '../../lib/config/local/local.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/config/read.ts';

const read = (environment: Environment) => readConfig(gitHostVariables, environment);

describe('the configured git host', () => {
  it('defaults to github.com with discovery by installations', () => {
    expect(read({})).toMatchObject({ GIT_HOST_URL: 'https://github.com', GIT_DISCOVERY: 'auto' });
  });

  it.each([
    [{}, 'https://api.github.com'],
    [{ GIT_HOST_URL: 'https://github.com/' }, 'https://api.github.com'],
    [{ GIT_HOST_URL: 'https://git.example.org/' }, 'https://git.example.org/api/v3'],
    [{ GIT_HOST_URL: 'https://team.ghe.com' }, 'https://api.team.ghe.com'],
    [{ GIT_HOST_URL: 'http://localhost:8080' }, 'http://localhost:8080/api/v3'],
    [{ GIT_API_URL: 'https://api.example.org/v3/' }, 'https://api.example.org/v3'],
  ])(
    'with %j has its API at %s, so that tokens of other hosts never reach github.com',
    (environment, api) => {
      expect(gitApiUrl(read(environment))).toBe(api);
    },
  );

  it.each([
    ['/srv/archives'],
    ['archives'],
    ['git@example.org:team/archives.git'],
    ['ssh://git@example.org:22/team/archives'],
    ['https://example.org/team/archives'],
    ['http://127.0.0.1:8080/team/archives'],
    ['file:///srv/archives'],
  ])('accepts the destination %s', (path) => {
    expect(read({ BACKUP_REPO_PATH: path }).BACKUP_REPO_PATH).toBe(path);
  });
});

describe('an invalid value', () => {
  it.each([
    ['GIT_HOST_URL', 'hunter-22'],
    ['GIT_HOST_URL', 'http://git.example.org'],
    ['GIT_HOST_URL', 'https://ada:hunter-22@git.example.org'],
    ['GIT_HOST_URL', 'ssh://git.example.org'],
    ['GIT_API_URL', 'http://127.0.0.1.example.org/api'],
    ['GIT_APP_CLIENT_ID', 'hunter 22'],
    ['GIT_DISCOVERY', 'hunter-22'],
    ['ORG_ACCOUNT', 'team/hunter-22'],
    ['PROJECT_ACCOUNT', '../hunter-22'],
    ['GIT_TOKEN_PERSONAL', 'hunter 22'],
    ['GIT_TOKEN_PRIVATE', 'hunter\n22'],
    ['BACKUP_REPO_PATH', 'http://example.org/team/hunter-22'],
    ['BACKUP_REPO_PATH', 'https://ada:hunter-22@example.org/team/archives'],
    ['BACKUP_REPO_PATH', 'https://hunter-22@example.org/team/archives'],
    ['BACKUP_REPO_PATH', 'ssh://git:hunter-22@example.org/team/archives'],
    ['BACKUP_REPO_PATH', 'ada:hunter-22@example.org:team/archives'],
    ['BACKUP_REPO_PATH', 'ftp://example.org/hunter-22'],
    ['BACKUP_REPO_LAYOUT', 'hunter-22'],
    ['BACKUP_REPO_MAX_SIZE', '22-hunter'],
    ['BACKUP_REPO_MAX_SIZE', '0'],
  ])('of %s (%#) is reported without the value', (name, value) => {
    const wrong = () => read({ [name]: value });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(new RegExp(`^${name} must (?!.*hunter)[^;]*$`));
  });
});

it('`npm start` rejects an invalid git host variable', () => {
  expect(() => readConfig(localVariables, { GIT_DISCOVERY: 'hunter-22' })).toThrow(
    /^GIT_DISCOVERY must be auto or accounts$/,
  );
});

describe('the configuration folder', () => {
  it.each<[Environment, string]>([
    [{ BACKUP_CONFIG_DIR: '/srv/conf', XDG_CONFIG_HOME: '/x', HOME: '/home/ada' }, '/srv/conf'],
    [{ BACKUP_CONFIG_DIR: 'conf' }, resolve('conf')],
    [{ XDG_CONFIG_HOME: '/x', HOME: '/home/ada' }, '/x/backup-observatory'],
    [{ XDG_CONFIG_HOME: 'x', HOME: '/home/ada' }, '/home/ada/.config/backup-observatory'],
    [{ HOME: '/home/ada' }, '/home/ada/.config/backup-observatory'],
    [{}, join(homedir(), '.config/backup-observatory')],
  ])('for %j is %s', (environment, folder) => {
    expect(configFolder(read(environment), environment)).toBe(folder);
  });
});
