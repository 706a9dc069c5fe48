import { Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { formatAge, formatTime } from './format.ts';

const TICK_MS = 30_000;

/** The age of a time, with the exact time as a hint. */
export function Age({ of }: { of: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
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
