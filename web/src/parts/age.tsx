import { Text } from '@mantine/core';
import { formatAge, formatTime } from './format.ts';
import { useServerNow } from './use-server-now.ts';

/** The age of a time, with the exact time as a hint. */
export function Age({ of }: { of: string }) {
  const now = useServerNow();
  return (
    <Text
      span
      inherit
      component="time"
      dateTime={of}
      data-hint={formatTime(of)}
      style={{ whiteSpace: 'nowrap' }}
    >
      {formatAge(of, now)}
    </Text>
  );
}
