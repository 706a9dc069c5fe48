import type { CoveringRun, DueFacts, DueSchedule } from '../records/schedules/due.ts';
import { lastTime, nextTime, parseTiming } from '../timing/timing.ts';

const MINUTE_MS = 60_000;
/** A run that begins this long after it was due began on time: the next interval counts from when it was due. */
const ON_TIME_MS = 5 * MINUTE_MS;

/**
 * When the next run of a schedule is due, in milliseconds since the epoch; at or before `now` if it is due now. However
 * many times have passed without a run, as while the machine slept, one run makes up for them.
 */
export function nextDue(
  schedule: DueSchedule,
  { coveringRuns }: Pick<DueFacts, 'coveringRuns'>,
  now: number,
): number {
  const { cron } = parseTiming(schedule.timing);
  const others = coveringRuns.filter(({ scheduleId }) => scheduleId !== schedule.id);
  return cron === null
    ? nextOfInterval(schedule, others)
    : nextOfClock(schedule, cron, others, now);
}

function nextOfInterval(schedule: DueSchedule, others: readonly CoveringRun[]): number {
  const { intervalMs, since, startedAt, claimedFor } = schedule;
  const other = others[0]?.startedAt ?? Number.NEGATIVE_INFINITY;
  // Whatever else starts runs has the right of way: this schedule steps in if that is late.
  if (other > (startedAt ?? Number.NEGATIVE_INFINITY)) {
    return other + intervalMs + Math.max(MINUTE_MS, intervalMs / 12);
  }
  if (startedAt === null) return since;
  const tolerance = Math.min(ON_TIME_MS, intervalMs / 2);
  const isOnTime =
    claimedFor !== null && claimedFor <= startedAt && startedAt - claimedFor < tolerance;
  return (isOnTime ? claimedFor : startedAt) + intervalMs;
}

function nextOfClock(
  { timeZone, since, startedAt }: DueSchedule,
  cron: string,
  others: readonly CoveringRun[],
  now: number,
): number {
  const due = lastTime(cron, timeZone, now);
  const before = lastTime(cron, timeZone, due - 1);
  const isServed =
    (startedAt !== null && startedAt >= due) ||
    others.some((run) => run.startedAt > servedFrom(run, before, due));
  return due < since || isServed ? nextTime(cron, timeZone, now) : due;
}

/**
 * After which moment a run of another scheduler does what is due. One that comes at least as often may have begun at any
 * time since the last time. Of one that may not come again, only a run close to the time counts.
 */
function servedFrom({ scheduleId, intervalMs }: CoveringRun, before: number, due: number): number {
  const isAsOften = intervalMs !== null && intervalMs <= (due - before) * 1.1;
  return scheduleId !== null || isAsOften ? before : due - (due - before) / 2;
}

/** The next times of a timing, in milliseconds since the epoch, if each run begins on time. */
export function upcomingTimes(
  timing: string,
  timeZone: string,
  first: number,
  count: number,
): number[] {
  const { cron, intervalMs } = parseTiming(timing);
  const times = [first];
  for (let at = first; times.length < count; times.push(at)) {
    at = cron === null ? at + intervalMs : nextTime(cron, timeZone, at);
  }
  return times;
}
