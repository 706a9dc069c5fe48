import { Button, Group, Modal, NumberInput, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type Schemas } from '../../api/client.ts';
import { objectives, storeObjective } from '../../api/objectives.ts';
import { Failure } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';

const MAX_NAME_LENGTH = 100;
const [MAX_HOURS, MAX_MINUTES] = [8_760, 43_200];

type Faults = Partial<Record<'name' | 'patterns' | 'rpo', string>>;

/** Adds an objective, or changes one. */
export function ObjectiveForm({
  objective,
  close,
}: {
  objective: Schemas['AttainedObjective'] | null;
  close(): void;
}) {
  const queries = useQueryClient();
  const [name, setName] = useState(objective?.name ?? '');
  const [patterns, setPatterns] = useState(objective?.patterns.join('\n') ?? '');
  const [rpo, setRpo] = useState<string | number>(objective?.rpo_hours ?? '');
  const [rto, setRto] = useState<string | number>(objective?.rto_minutes ?? '');
  const [position, setPosition] = useState<string | number>(objective?.position ?? 0);
  const [faults, setFaults] = useState<Faults>({});
  const storing = useMutation({
    mutationFn: () =>
      storeObjective(objective?.id ?? null, {
        name: name.trim(),
        patterns: linesOf(patterns),
        position: Number(position),
        rpo_hours: rpo === '' ? null : Number(rpo),
        rto_minutes: rto === '' ? null : Number(rto),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: objectives.queryKey });
      close();
      void notify({ color: 'teal', message: `${name.trim()} was saved` });
    },
  });
  const { error } = storing;
  const isTaken = error instanceof ApiError && error.status === 409;
  return (
    <Modal
      opened
      onClose={close}
      title={objective === null ? 'Add an objective' : 'Edit objective'}
    >
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const found = findFaults({ name, patterns, rpo, rto });
          setFaults(found);
          if (Object.keys(found).length === 0) storing.mutate();
        }}
      >
        <Stack>
          {error && !isTaken && <Failure error={error} />}
          <TextInput
            label="Name"
            value={name}
            onChange={({ currentTarget: { value } }) => setName(value)}
            error={faults.name ?? (isTaken ? error.message : undefined)}
            maxLength={MAX_NAME_LENGTH}
            autoComplete="off"
            required
            data-autofocus
          />
          <Textarea
            label="Repositories"
            description="One pattern a line, such as acme/*. * matches anything but a slash, ** also a slash, ? one character."
            value={patterns}
            onChange={({ currentTarget: { value } }) => setPatterns(value)}
            error={faults.patterns}
            minRows={2}
            autosize
            required
          />
          <NumberInput
            label="The newest backup is at most so old (RPO)"
            suffix=" hours"
            value={rpo}
            onChange={setRpo}
            error={faults.rpo}
            min={1}
            max={MAX_HOURS}
            allowDecimal={false}
          />
          <NumberInput
            label="A restore takes at most (RTO)"
            suffix=" minutes"
            value={rto}
            onChange={setRto}
            min={1}
            max={MAX_MINUTES}
            allowDecimal={false}
          />
          <NumberInput
            label="Order"
            description="A repository belongs to the first objective that matches, in this order."
            value={position}
            onChange={setPosition}
            min={0}
            max={1_000_000}
            allowDecimal={false}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={storing.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function linesOf(text: string): string[] {
  return text.split(/[\n,]/).flatMap((line) => line.trim() || []);
}

/** What the server would refuse, by field. */
function findFaults(form: {
  name: string;
  patterns: string;
  rpo: string | number;
  rto: string | number;
}): Faults {
  const patterns = linesOf(form.patterns);
  return {
    ...(form.name.trim() === '' ? { name: 'Give the group a name' } : {}),
    ...(patterns.length === 0
      ? { patterns: 'Name at least one repository' }
      : /[[\](){}!#]/.test(form.patterns)
        ? { patterns: 'Only * and ? are wildcards' }
        : {}),
    ...(form.rpo === '' && form.rto === '' ? { rpo: 'Set an RPO or an RTO' } : {}),
  };
}
