import { Group, Tooltip, UnstyledButton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { countOf } from './format.ts';
import classes from './run-strip.module.css';
import { outcomeOfRun } from './status.tsx';

type Run = Schemas['RunMetrics']['runs'][number];

const DAY_MS = 86_400_000;
const names = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

interface Day {
  name: string;
  runs: Run[];
  /** The run to look at: the last one that was not good, else the last. */
  worst: Run | null;
}

/** A bar for each day, colored by its worst run. */
export function RunStrip({ runs, days }: { runs: readonly Run[]; days: number }) {
  const navigate = useNavigate();
  return (
    <Group gap={2} wrap="nowrap" className={classes.strip}>
      {daysOf(runs, days).map(({ name, runs, worst }) => {
        const about = worst
          ? `${name}: ${countOf(runs.length, 'run', 'runs')}, ${outcomeOfRun(worst).word.toLowerCase()}`
          : `${name}: no run`;
        return (
          <Tooltip key={name} label={about} events={{ hover: true, focus: true, touch: true }}>
            {worst ? (
              <UnstyledButton
                className={classes.day}
                data-color={outcomeOfRun(worst).color}
                aria-label={about}
                onClick={() => void navigate({ to: `/runs/${worst.id}` })}
              />
            ) : (
              <span className={classes.day} />
            )}
          </Tooltip>
        );
      })}
    </Group>
  );
}

function daysOf(runs: readonly Run[], count: number): Day[] {
  const byDay = Map.groupBy(runs, ({ started_at }) => names.format(new Date(started_at)));
  return Array.from({ length: count }, (_, index) => {
    const name = names.format(Date.now() - (count - 1 - index) * DAY_MS);
    const ofDay = byDay.get(name) ?? [];
    const bad = ofDay.findLast((run) => outcomeOfRun(run).color !== 'teal');
    return { name, runs: ofDay, worst: bad ?? ofDay.at(-1) ?? null };
  });
}
