import { Alert, Button, Group, Modal, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, type Schemas } from '../api/client.ts';
import { badges } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Card, CardAction } from '../parts/card.tsx';
import { Command } from '../parts/command.tsx';
import { Failure, Loaded } from '../parts/loading.tsx';
import { notify } from '../parts/notify.ts';
import { Pages } from '../parts/pages.tsx';

type Badge = Schemas['Badge'];

/** Creates, lists and revokes the badges of a repository, or those of all repositories together (null). */
export function Badges({ repository }: { repository: string | null }) {
  const [page, setPage] = useState(1);
  const [revoked, setRevoked] = useState<Badge | null>(null);
  const client = useQueryClient();
  const creation = useMutation({
    mutationFn: () => body(api.POST('/api/badges', { body: { repository } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ['badges'] }),
  });
  const created = creation.data;
  return (
    <Stack gap="xs" component="section" aria-label="Badges">
      <Title order={2} size="h4">
        Badges
      </Title>
      <Text size="sm" c="dimmed">
        A small image for a README or a dashboard. Anyone who knows its address sees the state{' '}
        {repository === null ? 'of all repositories ' : ''}and the age of the last proof, and
        nothing else, without logging in.
      </Text>
      <Group>
        <Button variant="default" loading={creation.isPending} onClick={() => creation.mutate()}>
          {repository === null ? 'Create a badge for all repositories' : 'Create a badge'}
        </Button>
      </Group>
      {creation.error && <Failure error={creation.error} />}
      {created && <Created key={created.id} badge={created} />}
      <Loaded query={useQuery(badges(repository, page))} lines={1}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <Text c="dimmed">No badges yet.</Text>
          ) : (
            <>
              {data.map((badge) => (
                <Row
                  key={badge.id}
                  badge={badge}
                  revoke={setRevoked}
                  isNamed={repository === null}
                />
              ))}
              <Pages of={pagination} onChange={setPage} />
            </>
          )
        }
      </Loaded>
      {revoked && (
        <Revoke
          badge={revoked}
          close={() => setRevoked(null)}
          done={() => created?.id === revoked.id && creation.reset()}
        />
      )}
    </Stack>
  );
}

/** The address of a new badge, which is shown once because the server does not keep it. */
function Created({ badge: { svg, json } }: { badge: Schemas['CreatedBadge'] }) {
  const { origin } = window.location;
  return (
    <Alert color="teal" title="Copy the address now: it is shown only once">
      <Stack gap="xs">
        <div>
          <img src={svg} alt="The new badge" height={20} style={{ maxWidth: '100%' }} />
        </div>
        <Text size="sm">As Markdown:</Text>
        <Command>{`![backup](${origin}${svg})`}</Command>
        <Text size="sm">For a shields.io endpoint badge:</Text>
        <Command>{`${origin}${json}`}</Command>
      </Stack>
    </Alert>
  );
}

interface RowProps {
  badge: Badge;
  isNamed: boolean;
  revoke(badge: Badge): void;
}

function Row({ badge, isNamed, revoke }: RowProps) {
  const { id, repository, created_at, created_by } = badge;
  return (
    <Card
      title={isNamed ? (repository ?? 'All repositories') : null}
      about={
        <>
          Badge {id}, created <Age of={created_at} />
          {created_by !== '' && (
            <>
              {' '}
              by <bdi>{created_by}</bdi>
            </>
          )}
        </>
      }
      actions={
        <CardAction
          label="Revoke"
          name={`Revoke badge ${id}`}
          act={() => revoke(badge)}
          isDestructive
        />
      }
    />
  );
}

function Revoke({ badge, close, done }: { badge: Badge; close(): void; done(): void }) {
  const client = useQueryClient();
  const revocation = useMutation({
    mutationFn: () => body(api.DELETE('/api/badges/{id}', { params: { path: { id: badge.id } } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['badges'] });
      void notify({ message: `Badge ${badge.id} was revoked` });
      done();
      close();
    },
  });
  return (
    <Modal opened onClose={close} title={`Revoke badge ${badge.id}?`}>
      <Stack>
        <Text>
          Within five minutes, pages that show this badge will show a broken image instead. This
          cannot be undone.
        </Text>
        {revocation.error && <Failure error={revocation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button color="red" loading={revocation.isPending} onClick={() => revocation.mutate()}>
            Revoke
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
