import { Button, Checkbox, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type Schemas } from '../../api/client.ts';
import { refreshTracked } from '../../api/queries.ts';
import {
  addSources,
  changeSource,
  removeSource,
  sourceRemoval,
  sources,
  trySource,
} from '../../api/sources.ts';
import { countOf } from '../../parts/format.ts';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';
import { ActionDialog } from './action-dialog.tsx';

const MAX_LENGTH = 2_000;

/** How a source is called. */
export function nameOf({ kind, address }: Pick<Schemas['Source'], 'kind' | 'address'>): string {
  return kind === 'login' ? 'What the login discovers' : address;
}

const listOf = (text: string) =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Tries an address, shows what is there, and adds it, or some of the repositories in a folder. */
export function AddSource({ close }: { close(): void }) {
  const [address, setAddress] = useState('');
  const [exclude, setExclude] = useState('');
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  const queries = useQueryClient();
  const trial = useMutation({ mutationFn: () => trySource(address.trim()) });
  const adding = useMutation({
    mutationFn: (found: Schemas['SourceTrial']) =>
      addSources(chosen === null ? [found.address] : [...chosen], listOf(exclude)),
    onSuccess: () => {
      close();
      void notify({ color: 'teal', message: 'The source was added. The next run backs it up.' });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: sources.queryKey }),
  });
  const found = trial.data;
  const refused = trial.error instanceof ApiError && trial.error.status < 500 ? trial.error : null;
  return (
    <Modal opened onClose={close} title="Add a source" size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (found === undefined) trial.mutate();
          else adding.mutate(found);
        }}
      >
        <Stack>
          <TextInput
            label="Address or folder"
            description="An https:// or ssh:// address without credentials, user@host:path, or a folder of the server's machine"
            value={address}
            onChange={({ currentTarget: { value } }) => {
              setAddress(value);
              setChosen(null);
              trial.reset();
              adding.reset();
            }}
            error={refused?.message}
            maxLength={MAX_LENGTH}
            autoComplete="off"
            required
            data-autofocus
          />
          {trial.error && refused === null && <Failure error={trial.error} />}
          {found?.kind === 'repository' && (
            <Text size="sm" role="status" style={{ overflowWrap: 'anywhere' }}>
              It can be read: {found.name}, with {countOf(found.refs ?? 0, 'ref', 'refs')}.
            </Text>
          )}
          {found?.kind === 'folder' && (
            <>
              <Text size="sm" role="status">
                The folder holds {countOf(found.total_repositories, 'repository', 'repositories')}.
              </Text>
              <Checkbox
                label="All of them, also those that come later"
                checked={chosen === null}
                onChange={({ currentTarget: { checked } }) => setChosen(checked ? null : [])}
              />
              {chosen === null ? (
                <TextInput
                  label="Leave out"
                  description="Patterns of names, separated by commas, such as old-*"
                  value={exclude}
                  onChange={({ currentTarget: { value } }) => setExclude(value)}
                  maxLength={MAX_LENGTH}
                  autoComplete="off"
                />
              ) : (
                <Checkbox.Group
                  label="Repositories"
                  value={[...chosen]}
                  onChange={(value) => setChosen(value)}
                >
                  <Stack gap="xs" mt="xs" mah={220} style={{ overflowY: 'auto' }}>
                    {found.repositories.map((one) => (
                      <Checkbox key={one.address} value={one.address} label={one.name} />
                    ))}
                  </Stack>
                </Checkbox.Group>
              )}
            </>
          )}
          {adding.error && <Failure error={adding.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={trial.isPending || adding.isPending}
              disabled={chosen?.length === 0}
            >
              {found === undefined ? 'Try' : 'Add'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface SourceDialogProps {
  source: Schemas['Source'];
  close(): void;
}

export function ChangePatterns({ source, close }: SourceDialogProps) {
  const [exclude, setExclude] = useState(source.exclude.join(', '));
  return (
    <ActionDialog
      title={`Leave out repositories of ${nameOf(source)}`}
      action="Change"
      act={() => changeSource(source.id, { exclude: listOf(exclude) })}
      done="The patterns were changed, from the next run on"
      changes={sources.queryKey}
      close={close}
    >
      <TextInput
        label="Leave out"
        description="Patterns of names, separated by commas, such as old-* or team/*"
        value={exclude}
        onChange={({ currentTarget: { value } }) => setExclude(value)}
        maxLength={MAX_LENGTH}
        autoComplete="off"
        data-autofocus
      />
    </ActionDialog>
  );
}

/** Says what would be forgotten, and removes a source once its address was typed. */
export function RemoveSource({ source, close }: SourceDialogProps) {
  const [typed, setTyped] = useState('');
  const queries = useQueryClient();
  const look = useQuery(sourceRemoval(source.id));
  const name = nameOf(source);
  const removing = useMutation({
    mutationFn: () => removeSource(source.id),
    onSuccess: async () => {
      close();
      void notify({ color: 'teal', message: `${name} was removed` });
      await refreshTracked(queries);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: sources.queryKey }),
  });
  return (
    <Modal opened onClose={close} title="Remove a source?" size="md">
      <Loaded query={look} lines={3}>
        {({ repositories }) => (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (typed.trim() === name) removing.mutate();
            }}
          >
            <Stack>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {repositories.length === 0
                  ? 'No repository is named only by this source.'
                  : 'Runs leave these repositories out, and nothing counts them any more. What is kept of them stays:'}
              </Text>
              <List size="sm" listStyleType="none" spacing={4}>
                {repositories.map(({ full_name, detail }) => (
                  <List.Item key={full_name} style={{ overflowWrap: 'anywhere' }}>
                    <b>
                      <bdi>{full_name}</bdi>
                    </b>
                    . {detail}
                  </List.Item>
                ))}
              </List>
              <TextInput
                label={`Type “${name}” to confirm`}
                value={typed}
                onChange={({ currentTarget: { value } }) => setTyped(value)}
                maxLength={MAX_LENGTH}
                autoComplete="off"
                data-autofocus
              />
              {removing.error && <Failure error={removing.error} />}
              <Group justify="flex-end">
                <Button variant="default" onClick={close}>
                  Cancel
                </Button>
                <Button
                  type="submit"
                  color="red"
                  loading={removing.isPending}
                  disabled={typed.trim() !== name}
                >
                  Remove
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Loaded>
    </Modal>
  );
}
