import { expect, it } from 'vitest';
import { createDisplay } from '../../lib/worker/base/display.ts';

function display(isTerminal: boolean, columns = 80) {
  const written: string[] = [];
  const stream = { columns, write: (text: string) => written.push(text) };
  return { written, ...createDisplay(stream, isTerminal) };
}

it('a display shows a bar on a terminal, keeps it below the lines, and removes it', () => {
  const { written, line, progress, clear } = display(true);
  progress(1, 2, 'local/app: cloning');
  line('a line');
  clear();
  const bar = `${'█'.repeat(12)}${'░'.repeat(12)} 1/2 local/app: cloning`;
  expect(written).toEqual([bar, '\r\u001b[2K', 'a line\n', bar, '\r\u001b[2K']);
});

it('a display never lets the bar wrap to a second line', () => {
  const { written, progress } = display(true, 20);
  progress(0, 1, 'a long name');
  expect(written).toEqual([`${'░'.repeat(18)}…`]);
});

it('a display assumes 80 columns for a terminal of unknown width', () => {
  const { written, progress } = display(true, 0);
  progress(0, 1, 'x'.repeat(100));
  expect(written[0]).toHaveLength(79);
});

it('a display writes plain lines without a terminal', () => {
  const { written, line, progress, clear } = display(false);
  progress(1, 2, 'local/app: cloning');
  line('a line');
  clear();
  expect(written.join('')).toBe('a line\n');
});
