import { Checkbox, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { digest as query, removeDigest, setDigest } from '../../api/telling.ts';
import { ownTimeZone, TimeZoneInput } from '../../parts/time-zone.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { weekdayNames } from './weekdays.ts';

const MAX_NAMES_LENGTH = 2_000;

interface SetDigestProps {
  /** The one that is set. */
  digest: Schemas['Digest'] | null;
  close(): void;
}

type Receivers = 'all' | 'some' | 'none';

export function SetDigest({ digest, close }: SetDigestProps) {
  const [every, setEvery] = useState<'daily' | 'weekly'>(digest?.every ?? 'daily');
  const [weekday, setWeekday] = useState(String(digest?.weekday ?? 1));
  const [at, setAt] = useState(digest?.at ?? '08:00');
  const [zone, setZone] = useState(digest?.time_zone ?? ownTimeZone);
  const [mail, setMail] = useState(digest?.mail ?? false);
  const [names, setNames] = useState((digest?.channels ?? []).join(', '));
  const [receivers, setReceivers] = useState<Receivers>(
    digest === null || digest.channels === null
      ? 'all'
      : digest.channels.length > 0
        ? 'some'
        : 'none',
  );
  const channels = {
    ...{ all: null, none: [] },
    some: names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  }[receivers];
  return (
    <ActionDialog
      title={digest === null ? 'Set a digest' : 'Change the digest'}
      action="Save"
      act={() =>
        setDigest({ every, weekday: Number(weekday), at, time_zone: zone, channels, mail })
      }
      done="The digest was saved"
      changes={query.queryKey}
      close={close}
    >
      {(errorAt) => (
        <>
          <NativeSelect
            label="How often"
            data={[
              { value: 'daily', label: 'Daily' },
              { value: 'weekly', label: 'Weekly' },
            ]}
            value={every}
            onChange={({ currentTarget: { value } }) => setEvery(value as typeof every)}
            data-autofocus
          />
          {every === 'weekly' && (
            <NativeSelect
              label="Day"
              data={weekdayNames.map((label, index) => ({ value: String(index + 1), label }))}
              value={weekday}
              onChange={({ currentTarget: { value } }) => setWeekday(value)}
              error={errorAt('weekday')}
            />
          )}
          <TextInput
            type="time"
            label="At"
            value={at}
            onChange={({ currentTarget: { value } }) => setAt(value)}
            error={errorAt('at')}
            required
          />
          <TimeZoneInput value={zone} onChange={setZone} error={errorAt('time_zone')} />
          <NativeSelect
            label="Through"
            data={[
              { value: 'all', label: 'All alert channels' },
              { value: 'some', label: 'Some alert channels' },
              { value: 'none', label: 'No alert channel' },
            ]}
            value={receivers}
            onChange={({ currentTarget: { value } }) => setReceivers(value as Receivers)}
            error={receivers === 'some' ? null : errorAt('channels')}
          />
          {receivers === 'some' && (
            <TextInput
              label="Names of the channels"
              description="Separated by commas"
              value={names}
              onChange={({ currentTarget: { value } }) => setNames(value)}
              error={errorAt('channels')}
              maxLength={MAX_NAMES_LENGTH}
              autoComplete="off"
              required
            />
          )}
          <Checkbox
            label="Also mail it to the addresses in SMTP_TO"
            checked={mail}
            onChange={({ currentTarget: { checked } }) => setMail(checked)}
          />
        </>
      )}
    </ActionDialog>
  );
}

/** Asks before the digest ends. */
export function RemoveDigest({ close }: { close(): void }) {
  return (
    <ActionDialog
      title="Remove the digest?"
      action="Remove"
      isDestructive
      act={removeDigest}
      done="The digest was removed"
      changes={query.queryKey}
      close={close}
    >
      <Text>Alerts are sent as ever.</Text>
    </ActionDialog>
  );
}
