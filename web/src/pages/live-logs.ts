import { useEffect, useState } from 'react';
import { api, body } from '../api/client.ts';
import type { LogLine } from '../parts/log-lines.tsx';

/** Lines that are kept; older ones are left to the search. */
const MAX_LINES = 2_000;
const BACKLOG = 200;
/** Lines are shown together this often, however many come. */
const SHOW_EVERY_MS = 250;

interface StreamedLog extends Omit<LogLine, 'created_at'> {
  timestamp: string;
}

export interface LiveLogs {
  /** Oldest first. */
  lines: readonly LogLine[];
  connection: 'connecting' | 'live' | 'lost';
  /** Why the backlog could not be read. */
  error: Error | null;
}

/** The newest logs, and each new one as it comes. */
export function useLiveLogs(): LiveLogs {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [connection, setConnection] = useState<LiveLogs['connection']>('connecting');
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const left = new AbortController();
    const incoming: LogLine[] = [];
    let source: EventSource | null = null;
    const timer = setInterval(() => {
      if (incoming.length === 0) return;
      const news = incoming.splice(0);
      setLines((lines) => [...lines, ...news].slice(-MAX_LINES));
    }, SHOW_EVERY_MS);

    const follow = (afterId: number) => {
      // The browser reconnects by itself, from the last id that it got.
      source = new EventSource(`/api/logs/stream?after_id=${afterId}`);
      source.onopen = () => setConnection('live');
      source.onerror = () => setConnection('lost');
      source.addEventListener('log', ({ data }) => {
        const { timestamp, ...log } = JSON.parse(data) as StreamedLog;
        incoming.push({ ...log, created_at: timestamp });
      });
    };
    const start = async () => {
      try {
        const answer = api.GET('/api/logs', {
          params: { query: { limit: BACKLOG } },
          signal: left.signal,
        });
        const { data } = await body(answer);
        setLines(data.toReversed());
        follow(data[0]?.id ?? 0);
      } catch (error) {
        if (!left.signal.aborted) setError(error as Error);
      }
    };
    void start();
    return () => {
      left.abort();
      clearInterval(timer);
      source?.close();
    };
  }, []);
  return { lines, connection, error };
}
