import { Anchor, Button, Code, Group, List, Paper, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { addSchedule, schedules } from '../api/schedules.ts';
import { sources } from '../api/sources.ts';
import { Command } from '../parts/command.tsx';
import { Failure, Loaded } from '../parts/loading.tsx';
import { BackUpNow } from './back-up-now.tsx';
import { EditSchedule } from './settings/schedule-dialogs.tsx';
import { AddSource, nameOf } from './settings/source-dialogs.tsx';

/** The timings that are offered by a click. */
const TIMINGS = ['daily at 02:30', 'every 6 hours'];

/**
 * Takes a new installation to its first backup: what to back up, when, and what else can be set. Each step can be
 * skipped, and is found again in the settings.
 */
export function Guide() {
  return (
    <Stack gap="md" component="section" aria-label="Set up your backups" maw={760}>
      <div>
        <Title order={2} size="h3">
          Set up your backups
        </Title>
        <Text size="sm" c="dimmed">
          Nothing is backed up yet. Only the first step is needed; all of it can be changed later in
          the <SettingsLink tab="sources">settings</SettingsLink>.
        </Text>
      </div>
      <What />
      <When />
      <Else />
      <Start />
    </Stack>
  );
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Paper withBorder radius="md" p="md" component="section" aria-label={title}>
      <Stack gap="sm">
        <Title order={3} size="h5">
          {number}. {title}
        </Title>
        {children}
      </Stack>
    </Paper>
  );
}

function SettingsLink({ tab, children }: { tab: string; children: ReactNode }) {
  return (
    <Anchor component={Link} to="/settings" search={{ tab } as never} inherit underline="always">
      {children}
    </Anchor>
  );
}

/** The sources so far, and a dialog that adds another one. */
function What() {
  const [isAdding, setAdding] = useState(false);
  return (
    <Step number={1} title="What to back up">
      <Loaded query={useQuery(sources)} lines={2}>
        {({ data, may_try }) => {
          const named = data.filter(({ kind }) => kind !== 'login');
          return (
            <>
              {named.length > 0 && (
                <List size="sm" spacing={4} aria-label="Sources">
                  {named.map((source) => (
                    <List.Item key={source.id} style={{ overflowWrap: 'anywhere' }}>
                      <bdi>{nameOf(source)}</bdi>
                    </List.Item>
                  ))}
                </List>
              )}
              {may_try ? (
                <Group>
                  <Button
                    variant={named.length === 0 ? 'filled' : 'default'}
                    onClick={() => setAdding(true)}
                  >
                    {named.length === 0 ? 'Add a source' : 'Add another source'}
                  </Button>
                </Group>
              ) : (
                <Command>npm run worker -- sources add ADDRESS</Command>
              )}
              <Text size="sm" c="dimmed" component="div">
                The address of a repository, or a folder of the server’s machine that holds some. To
                back up everything that an account can see, log in on that machine:
                <Command>npm run worker -- login github</Command>
              </Text>
            </>
          );
        }}
      </Loaded>
      {isAdding && <AddSource close={() => setAdding(false)} />}
    </Step>
  );
}

/** When runs start, with a click for the usual choices. */
function When() {
  const query = useQuery(schedules);
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const choosing = useMutation({
    mutationFn: (timing: string) =>
      addSchedule({ timing, time_zone: query.data?.time_zone ?? 'UTC', sources: null }),
    onSettled: () => queries.invalidateQueries({ queryKey: schedules.queryKey }),
  });
  return (
    <Step number={2} title="When">
      <Loaded query={query} lines={2}>
        {({ schedules, set_by, time_zone, runs_start_here }) =>
          set_by !== null ? (
            <Text size="sm">Runs start as {set_by} says.</Text>
          ) : schedules.length > 0 ? (
            <Text size="sm">
              {schedules.map(({ timing }) => timing).join(', ')} ({time_zone}). Change it in{' '}
              <SettingsLink tab="schedule">Schedule</SettingsLink>.
            </Text>
          ) : (
            <>
              <Group gap="xs">
                {TIMINGS.map((timing) => (
                  <Button
                    key={timing}
                    variant="default"
                    loading={choosing.isPending && choosing.variables === timing}
                    onClick={() => choosing.mutate(timing)}
                  >
                    {timing[0]?.toUpperCase()}
                    {timing.slice(1)}
                  </Button>
                ))}
                <Button variant="default" onClick={() => setOpen(true)}>
                  Another time…
                </Button>
              </Group>
              {!runs_start_here && (
                <Text size="sm" c="dimmed">
                  This server starts no runs itself: a machine with the same{' '}
                  <Code>DATABASE_URL</Code> that runs <Code>npm start</Code> does.
                </Text>
              )}
            </>
          )
        }
      </Loaded>
      {choosing.error && <Failure error={choosing.error} />}
      {isOpen && (
        <EditSchedule zone={query.data?.time_zone ?? 'UTC'} close={() => setOpen(false)} />
      )}
    </Step>
  );
}

/** What has good defaults, and where to change it. */
function Else() {
  return (
    <Step number={3} title="What else you may want">
      <List size="sm" spacing="xs">
        <List.Item>
          To be told when something is wrong, add a channel in{' '}
          <SettingsLink tab="alerts">Alerts</SettingsLink>.
        </List.Item>
        <List.Item>
          To keep copies somewhere else too, set <Code>BACKUP_STORES</Code>.
        </List.Item>
        <List.Item>
          All versions of a week are kept, then one a day, a week and a month;{' '}
          <Code>BACKUP_KEEP</Code> changes that.
        </List.Item>
      </List>
    </Step>
  );
}

function Start() {
  const { data } = useQuery(sources);
  const hasSource = data?.data.some(({ kind }) => kind !== 'login') ?? false;
  return (
    <Step number={4} title="Start the first backup">
      <Text size="sm" c="dimmed">
        {hasSource
          ? 'It appears here as soon as it has started.'
          : 'Add a source first, or log in to the git host.'}
      </Text>
      <BackUpNow target={null} />
    </Step>
  );
}
