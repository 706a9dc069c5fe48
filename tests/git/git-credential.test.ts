import { describe, expect, it } from 'vitest';
import { createGit } from '../../lib/git/git.ts';

const location = 'https://github.example/ada/app.git';
const credential = { location, token: 'a-token' };
const header = `Authorization: Basic ${Buffer.from('x-access-token:a-token').toString('base64')}`;
const environment = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'http.proxy',
  GIT_CONFIG_VALUE_0: 'http://proxy.example',
};
const git = createGit(environment, new AbortController().signal);
const setting = (name: string, url: string, given: typeof credential | null = credential) =>
  git
    .read(['config', '--get-urlmatch', name, url], { credential: given })
    .then((text) => text.trim());

describe('the token for an address', () => {
  it('is sent as a header to that address only, not to others on its host', async () => {
    expect(await setting('http.extraHeader', location)).toBe(header);
    for (const other of [
      'https://github.example/ada/app.github',
      'https://evil.example/ada/app.git',
    ]) {
      await expect(setting('http.extraHeader', other)).rejects.toThrow();
    }
  });

  it('is not sent after a redirect', async () => {
    expect(await setting('http.followRedirects', location)).toBe('false');
  });

  it('keeps configuration from the environment, and is not set without the option', async () => {
    expect(await setting('http.proxy', location)).toBe('http://proxy.example');
    await expect(setting('http.extraHeader', location, null)).rejects.toThrow();
    expect(await setting('http.proxy', location, null)).toBe('http://proxy.example');
  });
});
