import {
  Alert,
  Button,
  Checkbox,
  Group,
  List,
  Modal,
  ScrollArea,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, type Schemas } from '../api/client.ts';
import { refreshTracked } from '../api/queries.ts';
import { countOf } from '../parts/format.ts';
import { Failure, Loaded } from '../parts/loading.tsx';
import { notify } from '../parts/notify.ts';

type Forgetting = Schemas['Forgetting'];

const repositories = (number: number) => countOf(number, 'repository', 'repositories');

/** Forgets repositories that were removed on purpose, once the user has read what is kept of each and typed so. */
export function ForgetSeveral({
  names,
  onForgotten,
  onClose,
}: {
  names: readonly string[];
  onForgotten(names: ReadonlySet<string>): void;
  onClose(): void;
}) {
  // What was selected when the dialog opened: what is forgotten leaves the selection.
  const [chosen] = useState(() => [...names]);
  const client = useQueryClient();
  const look = useQuery({
    queryKey: ['forgetting', chosen],
    queryFn: () =>
      body(
        api.POST('/api/repos/forget', { body: { names: chosen, nothing_kept: [], dry_run: true } }),
      ),
    // What is kept can change, and must be seen anew each time.
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const forget = useMutation({
    mutationFn: (nothingKept: string[]) =>
      body(
        api.POST('/api/repos/forget', {
          body: { names: chosen, nothing_kept: nothingKept, dry_run: false },
        }),
      ),
    onSuccess: async ({ data }) => {
      const forgotten = data.filter(({ outcome }) => outcome === 'forgotten');
      onForgotten(new Set(forgotten.map(({ full_name }) => full_name)));
      if (forgotten.length === data.length) {
        notify({ message: `${repositories(data.length)} forgotten.` });
        onClose();
      }
      await refreshTracked(client);
    },
  });
  return (
    <Modal opened onClose={onClose} size="lg" title={`Forget ${repositories(chosen.length)}?`}>
      {forget.data === undefined ? (
        <Loaded query={look} lines={4}>
          {({ data }) => (
            <Confirmation
              found={data}
              error={forget.error}
              isPending={forget.isPending}
              onConfirm={(nothingKept) => forget.mutate(nothingKept)}
              onClose={onClose}
            />
          )}
        </Loaded>
      ) : (
        <Outcome done={forget.data.data} onClose={onClose} />
      )}
    </Modal>
  );
}

function Confirmation({
  found,
  error,
  isPending,
  onConfirm,
  onClose,
}: {
  found: readonly Forgetting[];
  error: Error | null;
  isPending: boolean;
  onConfirm(nothingKept: string[]): void;
  onClose(): void;
}) {
  const [isKnown, setKnown] = useState(false);
  const [typed, setTyped] = useState('');
  const nothing = found.filter(({ is_kept }) => !is_kept);
  const kept = found.filter(({ is_kept }) => is_kept);
  const expected = `forget ${found.length}`;
  const isConfirmed =
    typed.trim().toLowerCase() === expected && (isKnown || nothing.length === 0) && !isPending;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isConfirmed) onConfirm(nothing.map(({ full_name }) => full_name));
      }}
    >
      <Stack>
        <Text size="sm">
          Do this if they were removed on purpose. Runs, alerts and counts then leave them out until
          a run backs them up or fails to. What is kept stays.
        </Text>
        {nothing.length > 0 && (
          <>
            <Text size="sm" c="var(--mantine-color-red-light-color)">
              Nothing is kept of {repositories(nothing.length)}:
            </Text>
            <Details of={nothing} name="Nothing is kept of" />
          </>
        )}
        {kept.length > 0 && (
          <>
            <Text size="sm">Something is kept of {repositories(kept.length)}:</Text>
            <Details of={kept} name="Something is kept of" />
          </>
        )}
        {nothing.length > 0 && (
          <Checkbox
            label={`I know that nothing of ${nothing.length === 1 ? 'it' : 'them'} can be restored`}
            checked={isKnown}
            onChange={({ currentTarget }) => setKnown(currentTarget.checked)}
          />
        )}
        <TextInput
          label={`Type “${expected}” to confirm`}
          value={typed}
          maxLength={40}
          autoComplete="off"
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          data-autofocus
        />
        {error && <Failure error={error} />}
        <Group justify="end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={isPending} disabled={!isConfirmed}>
            Forget
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** What was not forgotten, and why. */
function Outcome({ done, onClose }: { done: readonly Forgetting[]; onClose(): void }) {
  const rest = done.filter(({ outcome }) => outcome !== 'forgotten');
  return (
    <Stack>
      <Alert color="red" title={`${repositories(rest.length)} not forgotten`}>
        <Text size="sm">
          {repositories(done.length - rest.length)} forgotten. These were not, and are still
          selected:
        </Text>
      </Alert>
      <Details of={rest} name="Not forgotten" />
      <Group justify="end">
        <Button onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  );
}

/** What is kept of each. */
function Details({ of, name }: { of: readonly Forgetting[]; name: string }) {
  return (
    <ScrollArea.Autosize
      mah={180}
      type="auto"
      viewportProps={{ tabIndex: 0, 'aria-label': name, role: 'region' }}
    >
      <List size="sm" listStyleType="none" spacing={4}>
        {of.map(({ full_name, detail }) => (
          <List.Item key={full_name} style={{ overflowWrap: 'anywhere' }}>
            <b>
              <bdi>{full_name}</bdi>
            </b>
            . {detail}
          </List.Item>
        ))}
      </List>
    </ScrollArea.Autosize>
  );
}
