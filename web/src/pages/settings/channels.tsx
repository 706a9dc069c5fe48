import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { alertChannels, testAlertChannel, users } from '../../api/settings.ts';
import { Age } from '../../parts/age.tsx';
import { Card, CardAction } from '../../parts/card.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { AddChannel, RemoveChannel } from './channel-dialogs.tsx';
import { Section } from './section.tsx';

type OpenDialog = { to: 'add' } | { to: 'remove'; name: string } | null;

/** The alert channels, which only the owner manages. */
export function Channels() {
  const people = useQuery(users);
  return (
    <Section
      title="Alert channels"
      about="Where alerts are sent when something is wrong. The owner manages the channels. Their addresses are secrets, and are never shown again."
    >
      <Loaded query={people} lines={2}>
        {({ may_manage }) =>
          may_manage ? (
            <List />
          ) : (
            <Alert color="blue" title="Only the owner sees the channels">
              Ask the owner of this installation, the AUTH_USERNAME user, to add a channel for you.
            </Alert>
          )
        }
      </Loaded>
    </Section>
  );
}

function List() {
  const query = useQuery(alertChannels);
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const close = () => setDialog(null);
  return (
    <>
      <Loaded query={query}>
        {({ channels, kinds, may_add, why_not }) => (
          <Stack>
            {channels.length === 0 && (
              <Empty title="Nobody is notified yet">
                Add a channel here, or set <Code>ALERT_CHANNELS</Code>.
              </Empty>
            )}
            {channels.map((channel) => (
              <ChannelRow
                key={channel.name}
                channel={channel}
                label={kinds.find(({ kind }) => kind === channel.kind)?.label ?? channel.kind}
                remove={() => setDialog({ to: 'remove', name: channel.name })}
              />
            ))}
            {may_add ? (
              <Group>
                <Button onClick={() => setDialog({ to: 'add' })}>Add a channel</Button>
              </Group>
            ) : (
              <Alert color="orange" title="You cannot add channels here">
                {why_not}. Channels in <Code>ALERT_CHANNELS</Code> work without it.
              </Alert>
            )}
          </Stack>
        )}
      </Loaded>
      {dialog?.to === 'add' && <AddChannel kinds={query.data?.kinds ?? []} close={close} />}
      {dialog?.to === 'remove' && <RemoveChannel name={dialog.name} close={close} />}
    </>
  );
}

interface ChannelRowProps {
  channel: Schemas['AlertChannel'];
  label: string;
  remove(): void;
}

function ChannelRow({ channel, label, remove }: ChannelRowProps) {
  const { name, place, source, fault, created_by, created_at } = channel;
  const testing = useMutation({ mutationFn: () => testAlertChannel(name) });
  return (
    <Card
      title={name}
      marks={[label]}
      about={
        <>
          <bdi>{place}</bdi>
          {created_at === null ? (
            ', set by ALERT_CHANNELS'
          ) : (
            <>
              , added <Age of={created_at} /> by <bdi>{created_by}</bdi>
            </>
          )}
        </>
      }
      actions={
        <>
          <CardAction
            label="Send a test message"
            name={`Send a test message through ${name}`}
            act={() => testing.mutate()}
            isPending={testing.isPending}
          />
          {source === 'page' && (
            <CardAction label="Remove" name={`Remove ${name}`} act={remove} isDestructive />
          )}
        </>
      }
    >
      {fault !== null && <Alert color="orange">{capitalize(fault)}.</Alert>}
      {testing.error && <Failure error={testing.error} />}
      {testing.isSuccess && !testing.isPending && <Outcome reason={testing.data} />}
    </Card>
  );
}

function Outcome({ reason }: { reason: string | null }) {
  if (reason === null) {
    return (
      <Alert color="teal" role="status">
        The service accepted the test message. Check whether it arrived.
      </Alert>
    );
  }
  return (
    <Alert color="red" role="alert" title="The test message was not sent">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {capitalize(reason)}.
      </Text>
    </Alert>
  );
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
