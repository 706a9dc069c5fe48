import { Button, Group, Modal, NumberInput, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { makeReport } from '../../api/reports.ts';
import { Failure } from '../../parts/loading.tsx';
import { kinds } from './about.ts';

const MAX_SUBJECT_CHARS = 200;
/** The largest id in the database. */
const MAX_RUN = 2_147_483_647;

/** Asks what the report is about, creates it and shows it. */
export function MakeReport({ isOpen, close }: { isOpen: boolean; close(): void }) {
  return (
    <Modal opened={isOpen} onClose={close} title="Create a report">
      <ReportForm close={close} />
    </Modal>
  );
}

function ReportForm({ close }: { close(): void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [type, setType] = useState<string>(kinds[0].type);
  const [run, setRun] = useState<string | number>('');
  const [subject, setSubject] = useState('');
  const making = useMutation({
    mutationFn: makeReport,
    onSuccess: async ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['reports', 'page'] });
      await navigate({ to: `/reports/${id}` });
    },
  });
  const make = (event: FormEvent) => {
    event.preventDefault();
    making.mutate({
      report_type: type,
      ...(run === '' ? {} : { run_id: Number(run) }),
      ...(subject.trim() === '' ? {} : { subject: subject.trim() }),
    });
  };
  return (
    <form onSubmit={make}>
      <Stack>
        {making.error && <Failure error={making.error} />}
        <Radio.Group label="Kind" value={type} onChange={setType}>
          <Stack gap="xs" mt="xs">
            {kinds.map((kind) => (
              <Radio.Card key={kind.type} value={kind.type} p="sm" radius="md">
                <Group wrap="nowrap" align="flex-start">
                  <Radio.Indicator />
                  <div>
                    <Text fw={600}>{kind.name}</Text>
                    <Text size="sm" c="dimmed">
                      {kind.about}
                    </Text>
                  </div>
                </Group>
              </Radio.Card>
            ))}
          </Stack>
        </Radio.Group>
        <NumberInput
          label="Run"
          placeholder="Number"
          description={kinds.find((kind) => kind.type === type)?.runHint}
          value={run}
          onChange={setRun}
          min={1}
          max={MAX_RUN}
          allowDecimal={false}
          allowNegative={false}
          prefix="#"
          hideControls
        />
        <TextInput
          label="Subject"
          description="Leave empty for a summary of the result."
          value={subject}
          onChange={({ currentTarget: { value } }) => setSubject(value)}
          maxLength={MAX_SUBJECT_CHARS}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" loading={making.isPending}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
