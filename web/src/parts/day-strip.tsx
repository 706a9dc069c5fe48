import { Group, UnstyledButton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import classes from './day-strip.module.css';
import { countOf, lastDays } from './format.ts';
import type { Outcome } from './status.tsx';
import { useServerNow } from './use-server-now.ts';

const names = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** The outcome of a run, or of one repository in it, at a time. */
export interface Event {
  at: string;
  run: number;
  outcome: Outcome;
}

interface Day {
  name: string;
  count: number;
  /** The event to look at: the last that was not good, or else the last. */
  worst: Event | null;
}

/** A bar for each day, colored by its worst event and linked to that run. Events are given oldest first. */
export function DayStrip({ events, days }: { events: readonly Event[]; days: number }) {
  const navigate = useNavigate();
  const now = useServerNow();
  return (
    <Group gap={2} wrap="nowrap" className={classes.strip}>
      {daysOf(events, days, now).map(({ name, count, worst }) => {
        const label = worst
          ? `${name}: ${countOf(count, 'run', 'runs')}, ${worst.outcome.word.toLowerCase()}`
          : `${name}: no results`;
        return worst ? (
          <UnstyledButton
            key={name}
            className={classes.day}
            data-color={worst.outcome.color}
            data-hint={label}
            aria-label={label}
            onClick={() => void navigate({ to: `/runs/${worst.run}` })}
          />
        ) : (
          <span key={name} className={classes.day} data-hint={label} />
        );
      })}
    </Group>
  );
}

function daysOf(events: readonly Event[], count: number, now: number): Day[] {
  const byDay = Map.groupBy(events, ({ at }) => names.format(new Date(at)));
  return lastDays(now, count).map((noon) => {
    const name = names.format(noon);
    const ofDay = byDay.get(name) ?? [];
    const bad = ofDay.findLast(({ outcome }) => outcome.color !== 'teal');
    return { name, count: ofDay.length, worst: bad ?? ofDay.at(-1) ?? null };
  });
}
