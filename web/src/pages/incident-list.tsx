import { Alert, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, body, type Schemas } from '../api/client.ts';
import { Age } from '../parts/age.tsx';
import { countOf, formatCount } from '../parts/format.ts';
import { Failure } from '../parts/loading.tsx';
import { notify } from '../parts/notify.ts';
import { RepositoryLink } from '../parts/repository-link.tsx';
import { WithCommands } from '../parts/with-commands.tsx';
import { MuteOfIncident } from './telling-now.tsx';

type Incident = Schemas['Incident'];
type Delivery = Schemas['AlertDelivery'];

/** The number of repositories that are shown before the user asks for all. */
const SHOWN = 5;

const kinds: Record<Delivery['kind'], string> = {
  opened: 'opened',
  reminder: 'reminder',
  resolved: 'resolved',
};

/** Incidents, each with its repositories and messages, and a button to acknowledge those that are open. */
export function IncidentList({ incidents }: { incidents: readonly Incident[] }) {
  return (
    <Stack gap="md">
      {incidents.map((incident) => (
        <OneIncident key={incident.id} incident={incident} />
      ))}
    </Stack>
  );
}

function colorOf({ state, severity }: Incident): string {
  if (state === 'resolved') return 'gray';
  return severity === 'critical' ? 'red' : 'orange';
}

function OneIncident({ incident }: { incident: Incident }) {
  const { id, title, summary, state, opened_at, resolved_at } = incident;
  return (
    <Alert
      id={`incident-${id}`}
      color={colorOf(incident)}
      title={title}
      component="article"
      role="article"
    >
      <Stack gap="xs">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          <bdi>{summary}</bdi>
        </Text>
        <Text size="sm">
          Opened <Age of={opened_at} />
          {resolved_at !== null && (
            <>
              , resolved <Age of={resolved_at} />
            </>
          )}
        </Text>
        <Repositories incident={incident} />
        {state !== 'resolved' && incident.advice !== null && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            <Text span inherit fw={600}>
              What to do:
            </Text>{' '}
            <WithCommands text={incident.advice} />
          </Text>
        )}
        <Deliveries deliveries={incident.deliveries} isOver={state === 'resolved'} />
        {state === 'open' && <Acknowledge id={incident.id} />}
        {state !== 'resolved' && <MuteOfIncident id={incident.id} />}
        {incident.acknowledged_at !== null && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            Acknowledged <Age of={incident.acknowledged_at} /> by{' '}
            <bdi>{incident.acknowledged_by}</bdi>.
          </Text>
        )}
      </Stack>
    </Alert>
  );
}

function Repositories({ incident: { repositories, repository_count } }: { incident: Incident }) {
  const [showsAll, setShowsAll] = useState(false);
  if (repositories.length === 0) return null;
  const shown = showsAll ? repositories : repositories.slice(0, SHOWN);
  const hidden = repository_count - shown.length;
  return (
    <Stack gap={4}>
      {shown.map(({ name, reason }) => (
        <Text key={name} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <RepositoryLink name={name} onTint />
          {reason !== '' && (
            <>
              : <bdi>{reason}</bdi>
            </>
          )}
        </Text>
      ))}
      {hidden > 0 && !showsAll && repositories.length > SHOWN && (
        <Button
          size="compact-sm"
          variant="default"
          style={{ alignSelf: 'start' }}
          onClick={() => setShowsAll(true)}
        >
          {formatCount(hidden)} more
        </Button>
      )}
      {hidden > 0 && showsAll && <Text size="sm">and {formatCount(hidden)} more</Text>}
    </Stack>
  );
}

/** The messages to each channel, and why some were not delivered. */
function Deliveries({ deliveries, isOver }: { deliveries: readonly Delivery[]; isOver: boolean }) {
  const [isOpen, setOpen] = useState(false);
  if (deliveries.length === 0) return <NotNotified isOver={isOver} />;
  const count = (wanted: Delivery['state']) =>
    deliveries.filter(({ state }) => state === wanted).length;
  const [waiting, failed] = [count('waiting') + count('held'), count('given_up')];
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Text size="sm">
          {countOf(deliveries.length, 'message', 'messages')}
          {waiting > 0 && `, ${waiting} waiting`}
          {failed > 0 && `, ${failed} not delivered`}
        </Text>
        <Button
          size="compact-xs"
          variant="default"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Hide messages' : 'Show messages'}
        </Button>
      </Group>
      {isOpen && (
        <Table.ScrollContainer minWidth={0}>
          <Table aria-label="Messages" layout="fixed">
            <Table.Tbody>
              {deliveries.map((delivery) => (
                <OneDelivery
                  key={`${delivery.kind} ${delivery.created_at} ${delivery.channel}`}
                  delivery={delivery}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}

/** The worker or the server notifies the channels a moment after an incident has opened. */
function NotNotified({ isOver }: { isOver: boolean }) {
  if (isOver) return <Text size="sm">Nobody was notified.</Text>;
  return (
    <Text size="sm">
      Nobody has been notified yet. Channels are notified within 10 minutes; if you have none,{' '}
      <AddChannelLink>add one</AddChannelLink>.
    </Text>
  );
}

/** A link to the settings where channels are added. */
export function AddChannelLink({ children }: { children: ReactNode }) {
  return (
    <Link to="/settings" search={{ tab: 'alerts' }} style={{ color: 'inherit' }}>
      {children}
    </Link>
  );
}

function OneDelivery({ delivery }: { delivery: Delivery }) {
  const { kind, channel, state, created_at, delivered_at, attempts, last_error, held_by } =
    delivery;
  return (
    <Table.Tr>
      <Table.Td w="25%" style={{ overflowWrap: 'anywhere' }}>
        <bdi>{channel}</bdi>
      </Table.Td>
      <Table.Td w={90}>{kinds[kind]}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {state === 'delivered' ? (
          <>
            delivered {held_by !== null && 'in a summary '}
            <Age of={delivered_at ?? created_at} />
          </>
        ) : (
          <>
            {describeState(delivery)}
            {attempts > 0 && ` after ${countOf(attempts, 'try', 'tries')}`}
            {last_error !== null && (
              <>
                : <bdi>{last_error}</bdi>
              </>
            )}
          </>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

const holders = {
  quiet_hours: 'quiet hours',
  mute: 'a mute',
  maintenance: 'a maintenance window',
} as const;

/** The state of a message that was not delivered. */
function describeState({ state, held_by }: Delivery): string {
  if (state === 'dropped') return 'not sent: it began and ended in a maintenance window';
  if (state === 'held' && held_by !== null) return `waits for the end of ${holders[held_by]}`;
  return state === 'given_up' ? 'not delivered' : 'waiting';
}

function Acknowledge({ id }: { id: number }) {
  const client = useQueryClient();
  const acknowledge = useMutation({
    mutationFn: () =>
      body(api.POST('/api/incidents/{id}/acknowledge', { params: { path: { id } } })),
    onSuccess: async () => {
      notify({
        message: 'Acknowledged. No more reminders, unless another repository is affected.',
      });
      await Promise.all([
        client.invalidateQueries({ queryKey: ['incidents'] }),
        client.invalidateQueries({ queryKey: ['overview'] }),
      ]);
    },
  });
  return (
    <Stack gap="xs" align="start">
      {acknowledge.error && <Failure error={acknowledge.error} />}
      <Button
        size="compact-sm"
        variant="default"
        loading={acknowledge.isPending}
        onClick={() => acknowledge.mutate()}
      >
        Acknowledge
      </Button>
    </Stack>
  );
}
