import { describe, expect, it } from 'vitest';
import { createDisplay } from '../../../lib/worker/base/display.ts';
import { createBoard } from '../../../lib/worker/run/watching/board.ts';
import { createTestClock } from '../../support/clock.ts';
import { tellTo } from '../../support/run-entries.ts';

/** A terminal with this many columns and lines. */
function watch({ columns = 80, rows = 24, isTerminal = true } = {}) {
  const clock = createTestClock();
  const written: string[] = [];
  const stream = { columns, rows, write: (text: string) => written.push(text) };
  const board = tellTo(createBoard(createDisplay(stream, isTerminal), clock));
  const begin = board.began;
  const tick = async (ms = 100) => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  /** What was last drawn on the screen. */
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal is sent
  const shown = () => (written.at(-1) ?? '').replace(/^(?:\r|\u001b\[[\dA-Z]+)*/, '').split('\n');
  return { board, begin, tick, shown, written, clock };
}

const bar = (filled: number) => '█'.repeat(filled).padEnd(20, '░');

describe('the board on a terminal', () => {
  it('shows a line for the run and one for each repository in progress', async () => {
    const { board, begin, tick, shown } = watch();
    begin(['team/a', 'team/b', 'team/c', 'team/d']);
    board.working('team/a', 'reading refs');
    board.working('team/b', { phase: 'Receiving objects', percent: 45, bytes: 1_258_291 });
    await tick();
    expect(shown()).toEqual([
      `${bar(0)} 0 of 4 done, 1.2 MiB received`,
      '      reading refs                       team/a',
      ' 45 % Receiving objects         1.2 MiB  team/b',
    ]);
    board.working('team/b', { phase: 'Resolving deltas', percent: 7, bytes: null });
    board.ended('team/a', 'failed');
    board.working('team/c', 'cloning');
    board.resting('team/c');
    await tick();
    expect(shown()).toEqual([
      `${bar(5)} 1 of 4 done, 1 failed, 1.2 MiB received`,
      '  7 % Resolving deltas          1.2 MiB  team/b',
    ]);
  });

  it('counts repositories done by other workers', async () => {
    const { board, begin, tick, shown } = watch();
    begin(['team/a', 'team/b', 'team/c', 'team/d']);
    board.working('team/a', 'cloning');
    board.ended('team/a', 'empty');
    board.counted({ done: 3, failed: 1 });
    await tick();
    expect(shown()).toEqual([`${bar(15)} 3 of 4 done, 1 failed`]);
    await tick(5_900);
    board.working('team/d', 'cloning');
    await tick();
    // Three of four took six seconds.
    expect(shown()[0]).toBe(`${bar(15)} 3 of 4 done, 1 failed, about 2 s left`);
    board.counted({ done: 2, failed: 0 });
    board.ended('team/d', 'empty');
    await tick();
    expect(shown()[0]).toContain('4 of 4 done, 1 failed');
  });

  it('does not count sources that were never read, whoever could not read them', async () => {
    const { board, begin, tick, shown } = watch();
    begin(['team/a', 'team/b', 'local/xx', 'local/yy']);
    board.ended('team/a', 'empty');
    board.ended('local/xx', 'unread');
    await tick();
    expect(shown()).toEqual([`${bar(6)} 1 of 3 done`]);
    board.counted({ done: 1, failed: 0, unread: 2 });
    await tick();
    expect(shown()).toEqual([`${bar(10)} 1 of 2 done`]);
  });

  it('draws at most ten times a second, and finally the last state', async () => {
    const { board, begin, tick, written, shown } = watch();
    begin(['team/a']);
    for (let percent = 1; percent <= 90; percent++) {
      board.working('team/a', { phase: 'Receiving objects', percent, bytes: null });
      if (percent % 30 === 0) await tick(25);
    }
    expect(written).toHaveLength(1);
    await tick(25);
    expect(written).toHaveLength(2);
    expect(shown()[1]).toContain('90 % Receiving');
  });

  it('estimates the remaining time from the last durations', async () => {
    const { board, begin, tick, shown } = watch();
    begin(['a/slow', 'a/quick', 'a/new'], new Map(Object.entries({ 'a/slow': 90, 'a/quick': 30 })));
    board.ended('a/quick', 'empty');
    await tick(4_999);
    expect(shown()[0]).not.toContain('left');
    await tick(5_001);
    board.working('a/slow', 'cloning');
    // 30 of 180 took 10 s.
    expect(shown()[0]).toContain('about 50 s left');
  });

  it('keeps log lines above its own lines, and removes its lines at the end', async () => {
    const { board, begin, tick, written } = watch();
    begin(['team/a', 'team/b']);
    board.working('team/a', 'cloning');
    await tick();
    written.length = 0;
    board.logged({ level: 'warn', repository: 'team/a', message: 'slow' });
    board.closed();
    expect(written).toEqual([
      '\r\u001b[2K\u001b[1A\u001b[J',
      'team/a: warn: slow\n',
      expect.stringContaining('0 of 2 done\n'),
      '\r\u001b[2K\u001b[1A\u001b[J',
    ]);
    board.working('team/b', 'cloning');
    await tick();
    expect(written).toHaveLength(4);
  });

  it('never wraps or scrolls, whatever the names are', async () => {
    const { board, begin, tick, shown } = watch({ columns: 51, rows: 5 });
    const names = ['team/漢字漢字漢字漢字', 'team/שלום', ...'cdefgh'];
    begin(names);
    for (const name of names) board.working(name, 'cloning');
    await tick();
    expect(shown()).toEqual([
      `${bar(0)} 0 of 8 done`,
      `${' '.repeat(6)}cloning${' '.repeat(28)}team/漢…`,
      `${' '.repeat(6)}cloning${' '.repeat(28)}team/שלום`,
      expect.stringMatching(/ c$/),
    ]);
  });
});

it('without a terminal, the board prints only log lines', async () => {
  const { board, begin, tick, written } = watch({ isTerminal: false });
  begin(['team/a']);
  board.working('team/a', 'cloning');
  board.logged({ level: 'info', repository: null, message: 'run 1 started' });
  await tick();
  board.closed();
  expect(written.join('')).toBe('run 1 started\n');
});
