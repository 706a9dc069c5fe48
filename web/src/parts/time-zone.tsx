import { Select } from '@mantine/core';

/** The time zone of the browser. */
export const ownTimeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** All time zones, with the one that browsers leave out. */
const zones = [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', ownTimeZone])].sort();

const MAX_SHOWN = 50;

interface TimeZoneInputProps {
  value: string;
  onChange(value: string): void;
  error: string | null;
}

/** A field for a time zone, found by typing part of its name. */
export function TimeZoneInput({ value, onChange, error }: TimeZoneInputProps) {
  return (
    <Select
      label="Time zone"
      data={zones.includes(value) ? zones : [value, ...zones]}
      value={value}
      onChange={(chosen) => chosen !== null && onChange(chosen)}
      error={error}
      searchable
      limit={MAX_SHOWN}
      allowDeselect={false}
    />
  );
}

/** A time as the value of an input of the type `datetime-local`, in the time zone of the browser. */
export function toLocalInput(ms: number): string {
  const offset = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offset).toISOString().slice(0, 16);
}

/** The time of such a value as ISO 8601 in UTC; as it is if it is not complete. */
export function fromLocalInput(value: string): string {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : at.toISOString();
}
