import {
  Alert,
  Button,
  Group,
  Modal,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../api/client.ts';
import { fixesOfRun } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Failure } from '../parts/loading.tsx';

/** The recorded fixes for a run's failures, and a form to record another. */
export function Fixes({ run, canRecord }: { run: number; canRecord: boolean }) {
  const { data, error } = useQuery(fixesOfRun(run));
  const [isOpen, form] = useDisclosure();
  const fixes = data?.data ?? [];
  if (!canRecord && fixes.length === 0) return null;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Fixes
        </Title>
        <Button variant="default" size="xs" onClick={form.open}>
          Record a fix
        </Button>
      </Group>
      {error && <Failure error={error} />}
      {data && fixes.length === 0 && (
        <Text size="sm" c="dimmed">
          No fixes recorded yet. Diagnosis, search and chat show a recorded fix to anyone who meets
          this failure again.
        </Text>
      )}
      {fixes.map((fix) => (
        <Alert key={fix.id} color="teal" variant="light" title={<bdi>{fix.title}</bdi>}>
          <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {fix.description}
          </Text>
          <Text size="xs" mt={4}>
            <bdi>{fix.author || 'unknown'}</bdi>, <Age of={fix.created_at} />
            {fix.commit_hash && `, commit ${fix.commit_hash.slice(0, 10)}`}
          </Text>
        </Alert>
      ))}
      <Modal opened={isOpen} onClose={form.close} title="Record a fix">
        <FixForm run={run} onDone={form.close} />
      </Modal>
    </Stack>
  );
}

function FixForm({ run, onDone }: { run: number; onDone(): void }) {
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [description, setDescription] = useState('');
  const [commit, setCommit] = useState('');
  const record = useMutation({
    mutationFn: () =>
      api.POST('/api/fixes', {
        body: {
          title,
          description,
          affected_run_id: run,
          ...(commit === '' ? {} : { commit_hash: commit }),
        },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: fixesOfRun(run).queryKey });
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    record.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="What was fixed, in one line"
          required
          maxLength={200}
          data-autofocus
          value={title}
          onChange={({ currentTarget }) => setTitle(currentTarget.value)}
        />
        <Textarea
          label="The cause, and how it was fixed"
          required
          autosize
          minRows={4}
          maxRows={12}
          maxLength={10_000}
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <TextInput
          label="Commit with the fix"
          maxLength={100}
          value={commit}
          onChange={({ currentTarget }) => setCommit(currentTarget.value)}
        />
        {record.error && <Failure error={record.error} />}
        <Group justify="end">
          <Button type="submit" loading={record.isPending}>
            Record
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
