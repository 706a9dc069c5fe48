import { Alert, Badge, Button, Code, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { me } from '../../api/queries.ts';
import { changeSchedule, schedules } from '../../api/schedules.ts';
import { Command } from '../../parts/command.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { EditSchedule, formatIn, RemoveSchedule } from './schedule-dialogs.tsx';
import { Section } from './section.tsx';

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
  const queries = useQueryClient();
  const pausing = useMutation({
    mutationFn: () => changeSchedule(id, { is_paused: !is_paused }),
    onSettled: () => queries.invalidateQueries({ queryKey: schedules.queryKey }),
  });
  return (
    <Paper withBorder p="sm" radius="md">
      <Stack gap="xs">
        <Group justify="space-between">
          <div style={{ minWidth: 0 }}>
            <Group gap="xs">
              <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
                <bdi>{timing}</bdi>
              </Text>
              {is_paused && <Badge variant="default">paused</Badge>}
              {!in_effect && <Badge variant="default">not in effect</Badge>}
            </Group>
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {time_zone}, {sources === null ? 'all sources' : `sources ${sources.join(', ')}`}
              {set_by !== null && `, set by ${set_by}`}
            </Text>
          </div>
          {mayChange && set_by === null && (
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                loading={pausing.isPending}
                onClick={() => pausing.mutate()}
                aria-label={`${is_paused ? 'Continue' : 'Pause'} ${timing}`}
              >
                {is_paused ? 'Continue' : 'Pause'}
              </Button>
              <Button
                size="xs"
                variant="default"
                onClick={() => open({ to: 'change', schedule })}
                aria-label={`Change ${timing}`}
              >
                Change
              </Button>
              <Button
                size="xs"
                variant="light"
                color="red"
                onClick={() => open({ to: 'remove', schedule })}
                aria-label={`Remove ${timing}`}
              >
                Remove
              </Button>
            </Group>
          )}
        </Group>
        {next_times.length > 0 && (
          <Text size="sm">
            Next: {next_times.map((time) => formatIn(time, time_zone)).join('; ')}
          </Text>
        )}
        {pausing.error && <Failure error={pausing.error} />}
      </Stack>
    </Paper>
  );
}
