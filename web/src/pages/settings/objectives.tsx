import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { objectives, removeObjective } from '../../api/objectives.ts';
import { me } from '../../api/queries.ts';
import { Attained } from '../../parts/attained.tsx';
import { Card, CardAction } from '../../parts/card.tsx';
import { Empty } from '../../parts/empty.tsx';
import { countOf } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { ObjectiveForm } from './objective-form.tsx';
import { Section } from './section.tsx';

type Objective = Schemas['AttainedObjective'];
type OpenDialog = { to: 'add' } | { to: 'edit' | 'remove'; objective: Objective } | null;

/** The objectives of groups of repositories, which administrators change. */
export function Objectives() {
  const query = useQuery(objectives);
  const isAdmin = useQuery(me).data?.is_admin ?? false;
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const close = () => setDialog(null);
  return (
    <Section
      title="Objectives"
      about="How old the newest backup of a group of repositories may be (RPO), and how long a restore may take (RTO), which restore drills measure. Attainment is over 90 days. A repository belongs to the first objective that matches its name."
    >
      <Loaded query={query}>
        {({ data, repositories_without }) => (
          <Stack>
            {data.length === 0 && (
              <Empty title="No objectives yet">
                {isAdmin
                  ? 'Add one to see how far your backups attain it.'
                  : 'An administrator can add them.'}
              </Empty>
            )}
            {data.map((objective) => (
              <Row
                key={objective.id}
                objective={objective}
                open={isAdmin ? (to) => setDialog({ to, objective }) : null}
              />
            ))}
            {data.length > 0 && repositories_without > 0 && (
              <Text size="sm" c="dimmed">
                {countOf(repositories_without, 'repository belongs', 'repositories belong')} to no
                objective.
              </Text>
            )}
            {isAdmin && (
              <Group>
                <Button onClick={() => setDialog({ to: 'add' })}>Add an objective</Button>
              </Group>
            )}
          </Stack>
        )}
      </Loaded>
      {dialog?.to === 'add' && <ObjectiveForm objective={null} close={close} />}
      {dialog?.to === 'edit' && <ObjectiveForm objective={dialog.objective} close={close} />}
      {dialog?.to === 'remove' && (
        <ActionDialog
          title={`Remove ${dialog.objective.name}?`}
          action="Remove"
          isDestructive
          act={() => removeObjective(dialog.objective.id)}
          done={`${dialog.objective.name} was removed`}
          changes={objectives.queryKey}
          close={close}
        >
          <Text size="sm">Its repositories then belong to the next objective that matches.</Text>
        </ActionDialog>
      )}
    </Section>
  );
}

function Row({
  objective,
  open,
}: {
  objective: Objective;
  open: ((dialog: 'edit' | 'remove') => void) | null;
}) {
  const { name, patterns, repositories } = objective;
  return (
    <Card
      title={name}
      about={
        <>
          {countOf(repositories, 'repository', 'repositories')}:{' '}
          {patterns.map((pattern, index) => (
            <span key={pattern}>
              {index > 0 && ' '}
              <Code>{pattern}</Code>
            </span>
          ))}
        </>
      }
      actions={
        open !== null && (
          <>
            <CardAction label="Edit" name={`Edit ${name}`} act={() => open('edit')} />
            <CardAction
              label="Remove"
              name={`Remove ${name}`}
              act={() => open('remove')}
              isDestructive
            />
          </>
        )
      }
    >
      <Attained objective={objective} />
    </Card>
  );
}
