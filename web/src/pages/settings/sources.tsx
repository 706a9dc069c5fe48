import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { me } from '../../api/queries.ts';
import { changeSource, sources } from '../../api/sources.ts';
import { Age } from '../../parts/age.tsx';
import { Card, CardAction } from '../../parts/card.tsx';
import { Command } from '../../parts/command.tsx';
import { Empty } from '../../parts/empty.tsx';
import { countOf } from '../../parts/format.ts';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { Section } from './section.tsx';
import { AddSource, ChangePatterns, nameOf, RemoveSource } from './source-dialogs.tsx';

type Source = Schemas['Source'];
type OpenDialog = { to: 'add' } | { to: 'patterns' | 'remove'; source: Source } | null;

/** What is backed up. */
export function Sources() {
  const query = useQuery(sources);
  const { data: self } = useQuery(me);
  const mayChange = self?.is_admin === true;
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const close = () => setDialog(null);
  return (
    <Section
      title="Sources"
      about="What each run backs up: repositories, folders that hold some, and whatever the login of the git host discovers."
    >
      <Loaded query={query}>
        {({ data, may_try }) => (
          <Stack>
            {data.length === 1 && (
              <Empty title="Nothing was added yet">
                Add an address or a folder here, set <Code>BACKUP_SOURCES</Code>, or log in to the
                git host with <Code>npm run worker -- login github</Code>.
              </Empty>
            )}
            {data.map((source) => (
              <SourceRow
                key={source.id}
                source={source}
                mayChange={mayChange && source.set_by === null}
                open={setDialog}
              />
            ))}
            {mayChange && may_try && (
              <Group>
                <Button onClick={() => setDialog({ to: 'add' })}>Add a source</Button>
              </Group>
            )}
            {!may_try && (
              <Alert color="orange" title="Sources are added on the machine that backs up">
                <Command>npm run worker -- sources add ADDRESS</Command>
              </Alert>
            )}
            {!mayChange && (
              <Text size="sm" c="dimmed">
                Only administrators change what is backed up.
              </Text>
            )}
          </Stack>
        )}
      </Loaded>
      {dialog?.to === 'add' && <AddSource close={close} />}
      {dialog?.to === 'patterns' && <ChangePatterns source={dialog.source} close={close} />}
      {dialog?.to === 'remove' && <RemoveSource source={dialog.source} close={close} />}
    </Section>
  );
}

interface SourceRowProps {
  source: Source;
  mayChange: boolean;
  open(dialog: OpenDialog): void;
}

function SourceRow({ source, mayChange, open }: SourceRowProps) {
  const { id, kind, exclude, set_by, paused_at, repositories, failing, last_read_at, fault } =
    source;
  const name = nameOf(source);
  const isPaused = paused_at !== null;
  const queries = useQueryClient();
  const pausing = useMutation({
    mutationFn: () => changeSource(id, { is_paused: !isPaused }),
    onSettled: () => queries.invalidateQueries({ queryKey: sources.queryKey }),
  });
  return (
    <Card
      title={name}
      marks={isPaused ? ['paused'] : []}
      about={
        <>
          {countOf(repositories, 'repository', 'repositories')}
          {failing > 0 && `, ${failing} failing`},{' '}
          {last_read_at === null ? (
            'never read'
          ) : (
            <>
              last read <Age of={last_read_at} />
            </>
          )}
          {exclude.length > 0 && `, without ${exclude.join(', ')}`}
          {set_by !== null && `, set by ${set_by}`}
        </>
      }
      actions={
        mayChange && (
          <>
            <CardAction
              label={isPaused ? 'Resume' : 'Pause'}
              name={`${isPaused ? 'Resume' : 'Pause'} ${name}`}
              act={() => pausing.mutate()}
              isPending={pausing.isPending}
            />
            {kind !== 'address' && (
              <CardAction
                label="Patterns"
                name={`Change the patterns of ${name}`}
                act={() => open({ to: 'patterns', source })}
              />
            )}
            {kind !== 'login' && (
              <CardAction
                label="Remove"
                name={`Remove ${name}`}
                act={() => open({ to: 'remove', source })}
                isDestructive
              />
            )}
          </>
        )
      }
    >
      {fault !== null && (
        <Alert color="red" title="The last run could not read it">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {fault.reason}
          </Text>
        </Alert>
      )}
      {pausing.error && <Failure error={pausing.error} />}
    </Card>
  );
}
