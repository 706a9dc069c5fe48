import { Autocomplete, MultiSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type Schemas } from '../../api/client.ts';
import {
  addSchedule,
  changeSchedule,
  removeSchedule,
  schedulePreview,
  schedules,
} from '../../api/schedules.ts';
import { sources as sourcesQuery } from '../../api/sources.ts';
import { ActionDialog } from './action-dialog.tsx';
import { nameOf } from './source-dialogs.tsx';

const MAX_LENGTH = 100;
/** The preview waits until nothing has been typed for this long. */
const TYPING_MS = 300;

interface EditScheduleProps {
  /** The schedule to change; without one, a new one is made. */
  schedule?: Schemas['Schedule'];
  /** The server's time zone. */
  zone: string;
  close(): void;
}

/** Makes or changes a schedule, and shows its next times while it is typed. */
export function EditSchedule({ schedule, zone, close }: EditScheduleProps) {
  const [timing, setTiming] = useState(schedule?.timing ?? 'daily at 02:30');
  const [timeZone, setTimeZone] = useState(schedule?.time_zone ?? zone);
  const [chosen, setChosen] = useState<readonly number[]>(schedule?.sources ?? []);
  const { data: known } = useQuery(sourcesQuery);
  const wanted = {
    ...{ timing, time_zone: timeZone },
    sources: chosen.length === 0 ? null : [...chosen],
  };
  const [[typed, typedZone]] = useDebouncedValue([timing, timeZone] as const, TYPING_MS);
  const preview = useQuery({
    ...schedulePreview(typed, typedZone),
    enabled: typed.trim() !== '' && typedZone !== '',
  });
  const isCurrent = typed === timing && typedZone === timeZone;
  const fault = isCurrent && preview.error instanceof ApiError ? preview.error : null;
  const faultOf = (field: string) =>
    fault?.fields.find(({ path }) => path === field)?.message ?? null;
  return (
    <ActionDialog
      title={schedule ? 'Change a schedule' : 'Add a schedule'}
      action={schedule ? 'Change' : 'Add'}
      act={() => (schedule ? changeSchedule(schedule.id, wanted) : addSchedule(wanted))}
      done={schedule ? 'The schedule was changed' : 'The schedule was added'}
      changes={schedules.queryKey}
      close={close}
    >
      <TextInput
        label="When"
        description="Such as “daily at 02:30”, “weekdays at 22:00”, “every 6 hours”, or cron of five fields"
        value={timing}
        onChange={({ currentTarget: { value } }) => setTiming(value)}
        error={faultOf('timing')}
        maxLength={MAX_LENGTH}
        autoComplete="off"
        required
        data-autofocus
      />
      <Autocomplete
        label="Time zone"
        value={timeZone}
        onChange={setTimeZone}
        data={Intl.supportedValuesOf('timeZone')}
        limit={20}
        error={faultOf('time_zone')}
        required
      />
      <MultiSelect
        label="Sources"
        description="Only these; leave it empty for all"
        // One that was removed can only be taken out.
        data={[
          ...(known?.data ?? []).map((source) => ({
            value: String(source.id),
            label: nameOf(source),
          })),
          ...chosen
            .filter((id) => known?.data.every((source) => source.id !== id))
            .map((id) => ({ value: String(id), label: `source ${id}` })),
        ]}
        value={chosen.map(String)}
        onChange={(ids) => setChosen(ids.map(Number))}
        searchable
      />
      <Stack gap={2} role="status" aria-label="Next times">
        {isCurrent && fault === null && preview.data && (
          <>
            <Text size="sm" fw={600}>
              Next times
            </Text>
            {preview.data.next_times.map((time) => (
              <Text key={time} size="sm">
                {formatIn(time, preview.data.time_zone)}
              </Text>
            ))}
          </>
        )}
      </Stack>
    </ActionDialog>
  );
}

/** Asks before a schedule is removed. */
export function RemoveSchedule({
  schedule: { id, timing },
  close,
}: {
  schedule: Schemas['Schedule'];
  close(): void;
}) {
  return (
    <ActionDialog
      title={`Remove ${timing}?`}
      action="Remove"
      isDestructive
      act={() => removeSchedule(id)}
      done={`${timing} was removed`}
      changes={schedules.queryKey}
      close={close}
    >
      <Text>Runs will no longer start at these times. A run that is under way goes on.</Text>
    </ActionDialog>
  );
}

/** A time as the clocks of a time zone show it. */
export function formatIn(time: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat(undefined, {
    ...{
      timeZone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
    },
    timeZoneName: 'short',
  });
  return format.format(new Date(time));
}
