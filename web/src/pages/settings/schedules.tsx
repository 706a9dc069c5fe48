import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { me } from '../../api/queries.ts';
import { changeSchedule, schedules } from '../../api/schedules.ts';
import { sources as sourcesQuery } from '../../api/sources.ts';
import { Card, CardAction } from '../../parts/card.tsx';
import { Command } from '../../parts/command.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { EditSchedule, formatIn, RemoveSchedule } from './schedule-dialogs.tsx';
import { Section } from './section.tsx';
import { nameOf } from './source-dialogs.tsx';

type Schedule = Schemas['Schedule'];
type OpenDialog = { to: 'add' } | { to: 'change' | 'remove'; schedule: Schedule } | null;

/** When runs start. */
export function Schedules() {
  const query = useQuery(schedules);
  const { data: self } = useQuery(me);
  const mayChange = self?.is_admin === true;
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const close = () => setDialog(null);
  const zone = query.data?.time_zone ?? 'UTC';
  return (
    <Section
      title="Schedule"
      about="When backup runs start. After the machine slept or the server was stopped, one run makes up for those that were missed. Another scheduler, such as cron, is not doubled."
    >
      <Loaded query={query}>
        {({ schedules, set_by, runs_start_here }) => (
          <Stack>
            {!runs_start_here && <RunsElsewhere />}
            {set_by !== null && (
              <Alert color="blue" title={`Set by ${set_by}`}>
                Change that variable to change when runs start, or remove it to make schedules here.
              </Alert>
            )}
            {schedules.length === 0 && (
              <Empty title="No run starts by itself">
                Add a schedule here, or set <Code>BACKUP_EVERY</Code>.
              </Empty>
            )}
            {schedules.map((schedule) => (
              <ScheduleRow
                key={schedule.id}
                schedule={schedule}
                mayChange={mayChange && set_by === null}
                open={setDialog}
              />
            ))}
            {mayChange && set_by === null && (
              <Group>
                <Button onClick={() => setDialog({ to: 'add' })}>Add a schedule</Button>
              </Group>
            )}
            {!mayChange && (
              <Text size="sm" c="dimmed">
                Only administrators change when runs start.
              </Text>
            )}
          </Stack>
        )}
      </Loaded>
      {dialog?.to === 'add' && <EditSchedule zone={zone} close={close} />}
      {dialog?.to === 'change' && (
        <EditSchedule schedule={dialog.schedule} zone={zone} close={close} />
      )}
      {dialog?.to === 'remove' && <RemoveSchedule schedule={dialog.schedule} close={close} />}
    </Section>
  );
}

/** A deployed function starts no process. */
function RunsElsewhere() {
  return (
    <Alert color="orange" title="This server starts no runs itself">
      <Stack gap="xs">
        <Text size="sm">
          A machine with the same <Code>DATABASE_URL</Code> has to: one that runs{' '}
          <Code>npm start</Code> serves the schedules below and “Back up now”. Or start a worker
          there with cron or a timer, or once an hour with:
        </Text>
        <Command>npm run worker -- run --every 60</Command>
      </Stack>
    </Alert>
  );
}

interface ScheduleRowProps {
  schedule: Schedule;
  mayChange: boolean;
  open(dialog: OpenDialog): void;
}

function ScheduleRow({ schedule, mayChange, open }: ScheduleRowProps) {
  const { id, timing, time_zone, is_paused, in_effect, set_by, sources, next_times } = schedule;
  const { data: known } = useQuery(sourcesQuery);
  const queries = useQueryClient();
  const pausing = useMutation({
    mutationFn: () => changeSchedule(id, { is_paused: !is_paused }),
    onSettled: () => queries.invalidateQueries({ queryKey: schedules.queryKey }),
  });
  return (
    <Card
      title={timing}
      marks={[...(is_paused ? ['paused'] : []), ...(in_effect ? [] : ['not in effect'])]}
      about={
        <>
          {time_zone}, {sources === null ? 'all sources' : namesOf(sources, known?.data)}
          {set_by !== null && `, set by ${set_by}`}
        </>
      }
      actions={
        mayChange &&
        set_by === null && (
          <>
            <CardAction
              label={is_paused ? 'Resume' : 'Pause'}
              name={`${is_paused ? 'Resume' : 'Pause'} ${timing}`}
              act={() => pausing.mutate()}
              isPending={pausing.isPending}
            />
            <CardAction
              label="Change"
              name={`Change ${timing}`}
              act={() => open({ to: 'change', schedule })}
            />
            <CardAction
              label="Remove"
              name={`Remove ${timing}`}
              act={() => open({ to: 'remove', schedule })}
              isDestructive
            />
          </>
        )
      }
    >
      {next_times.length > 0 && (
        <Text size="sm">
          Next: {next_times.map((time) => formatIn(time, time_zone)).join('; ')}
        </Text>
      )}
      {pausing.error && <Failure error={pausing.error} />}
    </Card>
  );
}

/** The names of sources; of one that was removed, its number. */
function namesOf(ids: readonly number[], known: readonly Schemas['Source'][] = []): string {
  return ids
    .map((id) => known.find((source) => source.id === id))
    .map((source, index) => (source ? nameOf(source) : `source ${ids[index]}`))
    .join(', ');
}
