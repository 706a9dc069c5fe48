import type { Page } from 'playwright-core';
import type { Database } from '../../lib/database/database.ts';

export const TAIL_LINES_PER_SECOND = 200;
/** A person notices if a page does not react for this long. */
export const FROZEN_MS = 200;
/** Three frames. */
export const LATE_MS = 50;

/** Writes lines for some seconds, and returns the milliseconds between the frames a page drew meanwhile. */
export async function drawWhileWriting(
  page: Page,
  db: Database,
  seconds: number,
): Promise<number[]> {
  const frames = page.evaluate<number[]>(framePauses(seconds * 1_000));
  await writeLogs(db, seconds);
  return frames;
}

/** The text of the last line written by `drawWhileWriting`. */
export const lastLine = (seconds: number) =>
  `line ${TAIL_LINES_PER_SECOND} of second ${seconds - 1}`;

/** A string, because it runs in the browser and uses globals that this program does not have. */
const framePauses = (duration: number) => `new Promise((done) => {
  const end = performance.now() + ${duration};
  const pauses = [];
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    pauses.push(now - last);
    last = now;
    if (now < end) requestAnimationFrame(look);
    else done(pauses);
  };
  requestAnimationFrame(look);
})`;

async function writeLogs(db: Database, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    const began = performance.now();
    await db.query({
      text: `INSERT INTO execution_logs (level, message, repository)
        SELECT 'info', 'line ' || n || ' of second ${second}: ' || repeat('x', 80), 'team/app'
        FROM generate_series(1, ${TAIL_LINES_PER_SECOND}) AS n`,
    });
    await new Promise((next) => setTimeout(next, Math.max(0, 1_000 - (performance.now() - began))));
  }
}
