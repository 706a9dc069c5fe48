import { Checkbox, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import {
  addMaintenance,
  maintenance,
  quietHours,
  removeMaintenance,
  removeQuietHours,
  setQuietHours,
} from '../../api/telling.ts';
import {
  fromLocalInput,
  ownTimeZone,
  TimeZoneInput,
  toLocalInput,
} from '../../parts/time-zone.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { weekdayNames } from './weekdays.ts';

const HOUR_MS = 3_600_000;
const MAX_NOTE_LENGTH = 500;

interface SetQuietHoursProps {
  /** Those that are set. */
  hours: Schemas['QuietHours'] | null;
  close(): void;
}

export function SetQuietHours({ hours, close }: SetQuietHoursProps) {
  const [from, setFrom] = useState(hours?.from ?? '22:00');
  const [to, setTo] = useState(hours?.to ?? '07:00');
  const [zone, setZone] = useState(hours?.time_zone ?? ownTimeZone);
  const [days, setDays] = useState((hours?.days ?? [1, 2, 3, 4, 5, 6, 7]).map(String));
  const [passes, setPasses] = useState(hours?.critical_passes ?? false);
  return (
    <ActionDialog
      title={hours === null ? 'Set quiet hours' : 'Change the quiet hours'}
      action="Save"
      act={() =>
        setQuietHours({
          ...{ from, to, time_zone: zone, days: days.map(Number), critical_passes: passes },
        })
      }
      done="The quiet hours were saved"
      changes={quietHours.queryKey}
      close={close}
    >
      {(errorAt) => (
        <>
          <Group grow align="start">
            <TextInput
              type="time"
              label="From"
              value={from}
              onChange={({ currentTarget: { value } }) => setFrom(value)}
              error={errorAt('from')}
              required
              data-autofocus
            />
            <TextInput
              type="time"
              label="To"
              value={to}
              onChange={({ currentTarget: { value } }) => setTo(value)}
              error={errorAt('to')}
              required
            />
          </Group>
          <TimeZoneInput value={zone} onChange={setZone} error={errorAt('time_zone')} />
          <Checkbox.Group
            label="They begin on"
            value={days}
            onChange={setDays}
            error={errorAt('days')}
          >
            <Group gap="sm" mt="xs">
              {weekdayNames.map((name, index) => (
                <Checkbox key={name} value={String(index + 1)} label={name} />
              ))}
            </Group>
          </Checkbox.Group>
          <Checkbox
            label="Send messages about critical incidents nevertheless"
            checked={passes}
            onChange={({ currentTarget: { checked } }) => setPasses(checked)}
          />
        </>
      )}
    </ActionDialog>
  );
}

/** Asks before the quiet hours are removed. */
export function RemoveQuietHours({ close }: { close(): void }) {
  return (
    <ActionDialog
      title="Remove the quiet hours?"
      action="Remove"
      isDestructive
      act={removeQuietHours}
      done="The quiet hours were removed"
      changes={quietHours.queryKey}
      close={close}
    >
      <Text>What waits now is told within 10 minutes, in one summary.</Text>
    </ActionDialog>
  );
}

export function AddMaintenance({ close }: { close(): void }) {
  const [note, setNote] = useState('');
  const [from, setFrom] = useState(() => toLocalInput(Date.now()));
  const [to, setTo] = useState(() => toLocalInput(Date.now() + 2 * HOUR_MS));
  const [repeats, setRepeats] = useState<'' | 'daily' | 'weekly'>('');
  return (
    <ActionDialog
      title="Plan maintenance"
      action="Plan"
      act={() =>
        addMaintenance({
          ...{ note, starts_at: fromLocalInput(from), ends_at: fromLocalInput(to) },
          ...{ repeats: repeats === '' ? null : repeats, time_zone: ownTimeZone },
        })
      }
      done="The maintenance window was added"
      changes={maintenance.queryKey}
      close={close}
    >
      {(errorAt) => (
        <>
          <TextInput
            label="What is done"
            value={note}
            onChange={({ currentTarget: { value } }) => setNote(value)}
            error={errorAt('note')}
            maxLength={MAX_NOTE_LENGTH}
            autoComplete="off"
            required
            data-autofocus
          />
          <TextInput
            type="datetime-local"
            label="From"
            value={from}
            onChange={({ currentTarget: { value } }) => setFrom(value)}
            error={errorAt('starts_at')}
            required
          />
          <TextInput
            type="datetime-local"
            label="Until"
            value={to}
            onChange={({ currentTarget: { value } }) => setTo(value)}
            error={errorAt('ends_at')}
            required
          />
          <NativeSelect
            label="Repeats"
            description={`At the same time of day in ${ownTimeZone}`}
            data={[
              { value: '', label: 'Never' },
              { value: 'daily', label: 'Daily' },
              { value: 'weekly', label: 'Weekly' },
            ]}
            value={repeats}
            onChange={({ currentTarget: { value } }) => setRepeats(value as typeof repeats)}
            error={errorAt('time_zone')}
          />
        </>
      )}
    </ActionDialog>
  );
}

interface RemoveMaintenanceProps {
  window: Schemas['MaintenanceWindow'];
  close(): void;
}

/** Asks before a maintenance window is removed. */
export function RemoveMaintenance({ window, close }: RemoveMaintenanceProps) {
  return (
    <ActionDialog
      title={`Remove “${window.note}”?`}
      action="Remove"
      isDestructive
      act={() => removeMaintenance(window.id)}
      done="The maintenance window was removed"
      changes={maintenance.queryKey}
      close={close}
    >
      <Text>
        {window.is_current
          ? 'It ends now. What it holds is told within 10 minutes, in one summary.'
          : 'What begins in that time is told as ever.'}
        {window.repeats !== null && ' It does not come again.'}
      </Text>
    </ActionDialog>
  );
}
