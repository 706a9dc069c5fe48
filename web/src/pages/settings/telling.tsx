import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { me } from '../../api/queries.ts';
import { digest, maintenance, mutes, quietHours } from '../../api/telling.ts';
import { Age } from '../../parts/age.tsx';
import { Card, CardAction } from '../../parts/card.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { EndMute, Mute } from '../mute-dialogs.tsx';
import { Channels } from './channels.tsx';
import { RemoveDigest, SetDigest } from './digest-dialogs.tsx';
import { Section } from './section.tsx';
import { StatusPages } from './status-pages.tsx';
import {
  AddMaintenance,
  RemoveMaintenance,
  RemoveQuietHours,
  SetQuietHours,
} from './telling-dialogs.tsx';
import { describeDays, weekdayNames } from './weekdays.ts';

/** Who is told of what goes wrong, and when. */
export function Telling() {
  const { data: self } = useQuery(me);
  const mayChange = self?.is_admin === true;
  return (
    <>
      <Channels />
      {self?.is_admin === false && (
        <Alert color="blue" title="Only administrators change what follows" mb="lg" maw={860}>
          Ask one of them, or the owner of this installation.
        </Alert>
      )}
      <QuietHours mayChange={mayChange} />
      <Mutes mayChange={mayChange} />
      <Maintenance mayChange={mayChange} />
      <Digest mayChange={mayChange} />
      <StatusPages mayChange={mayChange} />
    </>
  );
}

interface PartProps {
  mayChange: boolean;
}

function QuietHours({ mayChange }: PartProps) {
  const [dialog, setDialog] = useState<'set' | 'remove' | null>(null);
  const query = useQuery(quietHours);
  const close = () => setDialog(null);
  return (
    <Section
      title="Quiet hours"
      about="In quiet hours, messages wait. When they end, one summary tells what happened. Incidents open and close as ever."
    >
      <Loaded query={query} lines={1}>
        {({ quiet_hours: hours, quiet_until }) =>
          hours === null ? (
            <Nothing text="There are no quiet hours: messages are sent at any time." />
          ) : (
            <Card
              title={`${hours.from} to ${hours.to}`}
              marks={quiet_until === null ? [] : [`quiet until ${formatTime(quiet_until)}`]}
              actions={
                mayChange && (
                  <>
                    <CardAction
                      label="Change"
                      name="Change the quiet hours"
                      act={() => setDialog('set')}
                    />
                    <CardAction
                      label="Remove"
                      name="Remove the quiet hours"
                      act={() => setDialog('remove')}
                      isDestructive
                    />
                  </>
                )
              }
              about={
                <>
                  {' '}
                  {describeDays(hours.days)}, {hours.time_zone}.{' '}
                  {hours.critical_passes
                    ? 'Messages about critical incidents are sent nevertheless.'
                    : 'Messages about critical incidents wait too.'}{' '}
                  Set <Age of={hours.updated_at} /> by <bdi>{hours.updated_by}</bdi>.
                </>
              }
            />
          )
        }
      </Loaded>
      {mayChange && query.data?.quiet_hours === null && (
        <Group>
          <Button onClick={() => setDialog('set')}>Set quiet hours</Button>
        </Group>
      )}
      {dialog === 'set' && <SetQuietHours hours={query.data?.quiet_hours ?? null} close={close} />}
      {dialog === 'remove' && <RemoveQuietHours close={close} />}
    </Section>
  );
}

function Mutes({ mayChange }: PartProps) {
  const [dialog, setDialog] = useState<'add' | Schemas['Mute'] | null>(null);
  const close = () => setDialog(null);
  return (
    <Section
      title="Mutes"
      about="What nobody is told about for a while: everything, a repository, or an incident, which you mute where it is shown. A mute ends by itself, and one summary then tells what it held back."
    >
      <Loaded query={useQuery(mutes)} lines={1}>
        {(muted) =>
          muted.length === 0 ? (
            <Nothing text="Nothing is muted." />
          ) : (
            <Stack gap="xs">
              {muted.map((mute) => (
                <Card
                  key={mute.id}
                  title={describeMute(mute)}
                  actions={
                    mayChange && (
                      <CardAction
                        label="End the mute"
                        name={`End the mute of ${describeMute(mute)}`}
                        act={() => setDialog(mute)}
                      />
                    )
                  }
                  about={
                    <>
                      {' '}
                      Until {formatTime(mute.until)}, by <bdi>{mute.created_by}</bdi>.
                    </>
                  }
                />
              ))}
            </Stack>
          )
        }
      </Loaded>
      {mayChange && (
        <Group>
          <Button variant="default" onClick={() => setDialog('add')}>
            Mute
          </Button>
        </Group>
      )}
      {dialog === 'add' && <Mute close={close} />}
      {dialog !== null && dialog !== 'add' && <EndMute mute={dialog} close={close} />}
    </Section>
  );
}

function Maintenance({ mayChange }: PartProps) {
  const [dialog, setDialog] = useState<'add' | Schemas['MaintenanceWindow'] | null>(null);
  const close = () => setDialog(null);
  return (
    <Section
      title="Maintenance windows"
      about="Times of planned work. What begins in a window is not told, unless it outlasts the window."
    >
      <Loaded query={useQuery(maintenance)} lines={1}>
        {(windows) =>
          windows.length === 0 ? (
            <Nothing text="No maintenance is planned." />
          ) : (
            <Stack gap="xs">
              {windows.map((window) => (
                <Card
                  key={window.id}
                  title={window.note}
                  marks={window.is_current ? ['now'] : []}
                  actions={
                    mayChange && (
                      <CardAction
                        label="Remove"
                        name={`Remove the maintenance window: ${window.note}`}
                        act={() => setDialog(window)}
                        isDestructive
                      />
                    )
                  }
                  about={
                    <>
                      {' '}
                      {formatTime(window.starts_at)} to {formatTime(window.ends_at)}
                      {window.repeats !== null && `, ${window.repeats} (${window.time_zone})`}.
                      Planned by <bdi>{window.created_by}</bdi>.
                    </>
                  }
                />
              ))}
            </Stack>
          )
        }
      </Loaded>
      {mayChange && (
        <Group>
          <Button variant="default" onClick={() => setDialog('add')}>
            Plan maintenance
          </Button>
        </Group>
      )}
      {dialog === 'add' && <AddMaintenance close={close} />}
      {dialog !== null && dialog !== 'add' && <RemoveMaintenance window={dialog} close={close} />}
    </Section>
  );
}

function Digest({ mayChange }: PartProps) {
  const [dialog, setDialog] = useState<'set' | 'remove' | null>(null);
  const query = useQuery(digest);
  const close = () => setDialog(null);
  return (
    <Section
      title="Digest"
      about="A message that says in one sentence how the backups are, and then what needs somebody, through channels or by mail."
    >
      <Loaded query={query} lines={1}>
        {({ digest: planned, next_at, last_sent_at }) =>
          planned === null ? (
            <Nothing text="No digest is sent." />
          ) : (
            <Card
              title={
                planned.every === 'daily'
                  ? `Daily at ${planned.at}`
                  : `${weekdayNames[planned.weekday - 1]}s at ${planned.at}`
              }
              actions={
                mayChange && (
                  <>
                    <CardAction
                      label="Change"
                      name="Change the digest"
                      act={() => setDialog('set')}
                    />
                    <CardAction
                      label="Remove"
                      name="Remove the digest"
                      act={() => setDialog('remove')}
                      isDestructive
                    />
                  </>
                )
              }
              about={
                <>
                  {' '}
                  {planned.time_zone}, to <bdi>{describeReceivers(planned)}</bdi>.
                  {next_at !== null && ` Next: ${formatTime(next_at)}.`}
                  {last_sent_at !== null && ` Last sent: ${formatTime(last_sent_at)}.`}
                </>
              }
            />
          )
        }
      </Loaded>
      {mayChange && query.data?.digest === null && (
        <Group>
          <Button variant="default" onClick={() => setDialog('set')}>
            Set a digest
          </Button>
        </Group>
      )}
      {dialog === 'set' && <SetDigest digest={query.data?.digest ?? null} close={close} />}
      {dialog === 'remove' && <RemoveDigest close={close} />}
    </Section>
  );
}

function describeReceivers({ channels, mail }: Schemas['Digest']): string {
  const named = channels === null ? ['all channels'] : channels;
  return [...named, ...(mail ? ['the addresses in SMTP_TO'] : [])].join(', ');
}

function Nothing({ text }: { text: string }) {
  return <Text c="dimmed">{text}</Text>;
}

function describeMute({ scope, repository, incident_id }: Schemas['Mute']): string {
  if (scope === 'all') return 'Everything';
  return scope === 'repository' ? `${repository}` : `Incident ${incident_id}`;
}
