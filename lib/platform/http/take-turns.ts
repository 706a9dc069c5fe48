import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MiddlewareHandler } from 'hono';
import { hasOwnProcess } from '../own-process.ts';
import { alwaysAnswered } from './always-answered.ts';
import type { HttpEnv } from './env.ts';

/** So long requests are begun in one turn of the event loop. */
const TURN_MS = 10;

/** An isolate has no event loop that its requests share: what one of them schedules ends with it. */
const sharesEventLoop = hasOwnProcess();

/** When the turn of this process's event loop began, null before its first request. */
let turnBegan: number | null = null;

/**
 * Begins requests for a few milliseconds, then lets the event loop look at its connections before it goes
 * on. Hundreds that arrive together would otherwise all be worked on first, while answers from the
 * database and the asker of `/health` wait.
 */
export const takeTurns: MiddlewareHandler<HttpEnv> = (c, next) =>
  !sharesEventLoop || alwaysAnswered.has(c.req.path) || mayBegin()
    ? next()
    : waitForTurn().then(next);

function mayBegin(): boolean {
  if (turnBegan !== null) return performance.now() - turnBegan < TURN_MS;
  turnBegan = performance.now();
  setImmediate(() => {
    turnBegan = null;
  });
  return true;
}

async function waitForTurn(): Promise<void> {
  do await nextTurn();
  while (!mayBegin());
}
