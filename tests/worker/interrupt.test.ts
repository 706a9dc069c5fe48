import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { listenForInterrupt } from '../../lib/worker/interrupt.ts';
import { createTestClock } from '../support/clock.ts';

function listen() {
  const signals = new EventEmitter();
  const clock = createTestClock();
  const exits: number[] = [];
  const signal = listenForInterrupt({ signals, clock, exit: (code) => exits.push(code) });
  return { signals, clock, exits, signal };
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'])(
  'the first %s aborts with its name and lets the run end',
  (name) => {
    const { signals, exits, signal } = listen();
    signals.emit(name, name);
    expect(signal.reason).toMatchObject({ message: `interrupted by ${name}` });
    expect(exits).toEqual([]);
  },
);

it('a second signal ends the process at once', () => {
  const { signals, clock, exits } = listen();
  signals.emit('SIGINT', 'SIGINT');
  clock.advance(501);
  signals.emit('SIGINT', 'SIGINT');
  expect(exits).toEqual([1]);
});

it("npm's repetition of the first signal is ignored", () => {
  const { signals, clock, exits } = listen();
  signals.emit('SIGINT', 'SIGINT');
  clock.advance(100);
  signals.emit('SIGINT', 'SIGINT');
  expect(exits).toEqual([]);
});
