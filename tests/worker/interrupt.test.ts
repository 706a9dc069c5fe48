import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { listenForInterrupt } from '../../lib/worker/interrupt.ts';
import { createTestClock } from '../support/clock.ts';

function listen({ hasNpmEnded = false } = {}) {
  const signals = new EventEmitter();
  const clock = createTestClock();
  const exits: number[] = [];
  const signal = listenForInterrupt({
    ...{ signals, clock, hasNpmEnded: () => hasNpmEnded },
    exit: (code) => exits.push(code),
  });
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

it('the end of npm is no signal, but one that arrived is named', () => {
  const { signals, signal } = listen({ hasNpmEnded: true });
  signals.emit('SIGTERM', 'SIGTERM');
  expect(signal.reason).toMatchObject({
    message: 'interrupted: npm, which had started this worker, has ended',
    stoppedBy: null,
  });
  const closed = listen({ hasNpmEnded: true });
  closed.signals.emit('SIGHUP', 'SIGHUP');
  expect(closed.signal.reason).toMatchObject({ stoppedBy: 'SIGHUP' });
});
