import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../lib/config/read.ts';
import { workerVariables } from '../../../lib/config/worker.ts';
import { matchesPattern } from '../../../lib/text/name-pattern.ts';
import { parseLocation } from '../../../lib/worker/base/source.ts';
import { readSelection, selectSources } from '../../../lib/worker/run/selection/select.ts';

it.each([
  ['team/app', 'team/app', true],
  ['Team/App', 'tEAM/aPP', true],
  ['team/app', 'team/*', true],
  ['team/app', '*/app', true],
  ['team/app', 'other/*', false],
  ['team/app', 'app', true],
  ['team/app', 'a?p', true],
  ['team/app', 'team', false],
  ['team/app', '*', true],
  ['team/app', '**', true],
  ['team/app', 'team/**', true],
  ['team/app-old', '*-old', true],
  ['team/.github', 'team/*', true],
  ['team/.github', '.github', true],
  ['team/my.app', 'team/my.app', true],
  ['team/my-app', 'team/my.app', false],
  ['team/app', 'team/{api,app}', true],
  ['team/app', '[ab]pp', true],
  ['team/app', '[^ab]pp', false],
])('%s matches %s: %j', (name, pattern, matches) => {
  expect(matchesPattern(name, pattern)).toBe(matches);
});

// A bad pattern would take 250 to the power of the stars steps, and the test would not end.
it('the worst accepted pattern is matched quickly', () => {
  expect(matchesPattern('a'.repeat(250), `${'*a'.repeat(3)}b`)).toBe(false);
});

describe('a selection', () => {
  const config = (environment: Record<string, string>) => readConfig(workerVariables, environment);
  const none = { only: null, exclude: null };
  const sources = ['a/api', 'a/old-api', 'b/app'].map((name) => parseLocation(`h:${name}`, '/'));
  const select = (
    command: Parameters<typeof readSelection>[0],
    environment: Record<string, string> = {},
  ) => {
    const result = selectSources(sources, readSelection(command, config(environment)));
    return {
      selected: result.selected.map(({ name }) => name),
      leftOut: result.leftOut.map(({ source, why }) => `${source.name} ${why}`),
      lasting: result.leftOut.filter(({ isLasting }) => isLasting).length,
      unmatched: result.unmatched,
    };
  };

  it('includes everything by default', () => {
    expect(select(none)).toMatchObject({ selected: ['a/api', 'a/old-api', 'b/app'], leftOut: [] });
  });

  it('says why each repository is excluded', () => {
    expect(select({ only: ['a/*', 'x/*'], exclude: ['old-*'] })).toEqual({
      selected: ['a/api'],
      leftOut: ['a/old-api excluded by --exclude old-*', 'b/app not among --only a/*, x/*'],
      lasting: 0,
      unmatched: [{ from: '--only', text: 'x/*' }],
    });
  });

  it('comes from variables, each replaced by its option', () => {
    const environment = { BACKUP_ONLY: 'a/*, b/*', BACKUP_EXCLUDE: 'old-*' };
    expect(select(none, environment)).toMatchObject({
      selected: ['a/api', 'b/app'],
      leftOut: ['a/old-api excluded by BACKUP_EXCLUDE old-*'],
      lasting: 1,
    });
    expect(select({ only: ['b/*'], exclude: null }, environment).selected).toEqual(['b/app']);
    expect(select({ only: null, exclude: ['b/*'] }, environment).selected).toEqual([
      'a/api',
      'a/old-api',
    ]);
  });

  it.each(['a(b)', 'x'.repeat(201), 'a*b*c*d*'])('rejects %s in BACKUP_EXCLUDE', (pattern) => {
    expect(() => config({ BACKUP_EXCLUDE: `fine,${pattern}` })).toThrow(/^BACKUP_EXCLUDE m/);
  });
});
