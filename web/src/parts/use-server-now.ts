import { useEffect, useState } from 'react';
import { onClockChange, serverNow } from '../api/clock.ts';

const TICK_MS = 30_000;

/** The time of the server, in milliseconds. It is updated regularly, and when the browser's clock turns out to be wrong. */
export function useServerNow(everyMs: number = TICK_MS): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const update = () => setNow(serverNow());
    update();
    const timer = setInterval(update, everyMs);
    const forget = onClockChange(update);
    return () => {
      clearInterval(timer);
      forget();
    };
  }, [everyMs]);
  return now;
}
