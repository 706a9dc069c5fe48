import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { me } from '../api/queries.ts';
import { maintenance, mutes, quietHours } from '../api/telling.ts';
import { formatTime } from '../parts/format.ts';
import { EndMute, Mute } from './mute-dialogs.tsx';

/** What keeps messages from being sent now; nothing if nothing does. */
export function TellingNow() {
  const { data: hours } = useQuery(quietHours);
  const { data: windows = [] } = useQuery(maintenance);
  const { data: muted = [] } = useQuery(mutes);
  return (
    <>
      {windows
        .filter(({ is_current }) => is_current)
        .map(({ id, note, ends_at }) => (
          <Alert key={id} color="blue" title={`Maintenance until ${formatTime(ends_at)}`}>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              <bdi>{note}</bdi>
            </Text>
            <Text size="sm">What begins now is only told if it outlasts this window.</Text>
          </Alert>
        ))}
      {hours?.quiet_until != null && (
        <Alert color="blue" title={`Quiet until ${formatTime(hours.quiet_until)}`}>
          {hours.quiet_hours?.critical_passes === true
            ? 'Only messages about critical incidents are sent. The others wait, and a summary tells them then.'
            : 'Messages wait, and a summary tells them then.'}
        </Alert>
      )}
      {muted
        .filter(({ scope }) => scope === 'all')
        .map((mute) => (
          <Muted key={mute.id} mute={mute} title="Everything is muted" />
        ))}
    </>
  );
}

function Muted({ mute, title }: { mute: Schemas['Mute']; title: string }) {
  return (
    <Alert color="blue" title={title}>
      <MutedUntil mute={mute}>Until</MutedUntil>
    </Alert>
  );
}

interface MutedUntilProps {
  mute: Schemas['Mute'];
  /** What comes before the time. */
  children: ReactNode;
}

/** Until when something is muted and by whom, with a button that ends it. */
export function MutedUntil({ mute, children }: MutedUntilProps) {
  const { data: self } = useQuery(me);
  const [isEnding, setEnding] = useState(false);
  const { until, created_by } = mute;
  return (
    <Group gap="xs">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {children} {formatTime(until)}, by <bdi>{created_by}</bdi>.
      </Text>
      {self?.is_admin === true && (
        <Button size="compact-xs" variant="default" onClick={() => setEnding(true)}>
          End the mute
        </Button>
      )}
      {isEnding && <EndMute mute={mute} close={() => setEnding(false)} />}
    </Group>
  );
}

/** Whether an open incident is muted, and a button that mutes it. */
export function MuteOfIncident({ id }: { id: number }) {
  const { data: self } = useQuery(me);
  const { data: muted } = useQuery(mutes);
  const [isOpen, setOpen] = useState(false);
  const found = muted?.filter(({ incident_id }) => incident_id === id) ?? [];
  const close = () => setOpen(false);
  return (
    <Stack gap="xs" align="start">
      {found.map((mute) => (
        <MutedUntil key={mute.id} mute={mute}>
          Muted until
        </MutedUntil>
      ))}
      {self?.is_admin === true && found.length === 0 && (
        <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
          Mute until …
        </Button>
      )}
      {isOpen && <Mute about={{ scope: 'incident', incident_id: id }} close={close} />}
    </Stack>
  );
}
