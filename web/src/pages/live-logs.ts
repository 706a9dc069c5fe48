import { useEffect, useRef, useState } from 'react';
import { basePath } from '../api/base-path.ts';
import { ApiError, api, body } from '../api/client.ts';
import type { LogLine } from '../parts/log-lines.tsx';
import { type LogFilter, matches, queryOf } from './log-filter.ts';

/** The most lines that are kept in memory. Older ones can be loaded again. */
const MAX_LINES = 5_000;
/** The same while the user reads earlier lines, so that these stay for several minutes of a busy log. */
const MAX_LINES_READING = 50_000;
const BACKLOG = 200;
/** The most new lines of a run that are read at a time. */
const MAX_BEHIND = 500;
/** The interval at which new lines are shown together, however many there are. */
const SHOW_EVERY_MS = 250;
const RETRY_MS = 3_000;

interface StreamedLog extends Omit<LogLine, 'created_at'> {
  timestamp: string;
}

export interface LiveLogs {
  /** Oldest first. */
  lines: readonly LogLine[];
  connection: 'connecting' | 'live' | 'lost';
  /** Why older lines could not be read. */
  error: Error | null;
  /** Null when there are no older lines. */
  loadOlder: (() => void) | null;
  isLoadingOlder: boolean;
}

/** The newest log lines that match a filter, and each new one as it arrives. */
export function useLiveLogs(filter: LogFilter, isReading: boolean): LiveLogs {
  const { level, text, repository, run } = filter;
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [connection, setConnection] = useState<LiveLogs['connection']>('connecting');
  const [error, setError] = useState<Error | null>(null);
  const [hasOlder, setHasOlder] = useState(false);
  const [isLoadingOlder, setLoadingOlder] = useState(false);
  const maxLines = useRef(MAX_LINES);
  maxLines.current = isReading ? MAX_LINES_READING : MAX_LINES;

  useEffect(() => {
    const wanted: LogFilter = {
      ...(level && { level }),
      ...(text && { text }),
      ...(repository && { repository }),
      ...(run && { run }),
    };
    const following = new AbortController();
    const incoming: LogLine[] = [];
    let lastId = 0;
    let source: EventSource | null = null;
    let isFetching = false;
    const append = (added: readonly LogLine[]) =>
      setLines((lines) => merge(lines, added).slice(-maxLines.current));

    /** Reads the new lines of a run. Streamed lines do not name their run, so they only say when to read. */
    const readRun = async () => {
      if (isFetching) return;
      isFetching = true;
      try {
        append((await read(wanted, MAX_BEHIND, following.signal)).toReversed());
      } catch (error) {
        if (!following.signal.aborted) setError(error as Error);
      } finally {
        isFetching = false;
      }
    };
    const timer = setInterval(() => {
      if (incoming.length === 0 || isFetching) return;
      const added = incoming.splice(0);
      if (run === undefined) append(added.filter((line) => matches(line, wanted)));
      else void readRun();
    }, SHOW_EVERY_MS);

    const follow = () => {
      source = new EventSource(`${basePath}/api/logs/stream?after_id=${lastId}`);
      source.onopen = () => setConnection('live');
      source.onerror = () => {
        if (following.signal.aborted) return;
        setConnection('lost');
        // The browser reconnects by itself, after the last line it received, unless the server refused the stream.
        if (source?.readyState === EventSource.CLOSED) setTimeout(retry, RETRY_MS);
      };
      source.addEventListener('log', ({ data }) => {
        const { timestamp, ...log } = JSON.parse(data) as StreamedLog;
        lastId = Math.max(lastId, log.id);
        incoming.push({ ...log, created_at: timestamp });
      });
    };
    const retry = () => {
      if (!following.signal.aborted) follow();
    };
    const start = async () => {
      try {
        // The newest id first: lines that are written between the two requests then come over the stream too.
        const [newest] = await read({}, 1, following.signal);
        const backlog = await read(wanted, BACKLOG, following.signal);
        lastId = newest?.id ?? 0;
        append(backlog.toReversed());
        setHasOlder(backlog.length === BACKLOG);
        setError(null);
        follow();
      } catch (error) {
        if (following.signal.aborted) return;
        setError(error as Error);
        // A server that is down may come back; one that rejects the request will reject it again.
        const isDown = error instanceof ApiError && (error.status === 0 || error.status >= 500);
        if (isDown) setTimeout(() => following.signal.aborted || void start(), RETRY_MS);
      }
    };
    setLines([]);
    setError(null);
    setHasOlder(false);
    void start();
    return () => {
      following.abort();
      clearInterval(timer);
      source?.close();
    };
  }, [level, text, repository, run]);

  const loadOlder = async () => {
    const oldest = lines[0];
    if (oldest === undefined) return;
    setLoadingOlder(true);
    try {
      const older = await read(filter, BACKLOG, undefined, oldest.id);
      setLines((lines) => merge(older.toReversed(), lines));
      setHasOlder(older.length === BACKLOG);
    } catch (error) {
      setError(error as Error);
    } finally {
      setLoadingOlder(false);
    }
  };
  return {
    lines,
    connection,
    error,
    loadOlder: hasOlder ? () => void loadOlder() : null,
    isLoadingOlder,
  };
}

/** Reads log lines, newest first. */
async function read(
  filter: LogFilter,
  limit: number,
  signal: AbortSignal | undefined,
  beforeId?: number,
): Promise<LogLine[]> {
  const before = beforeId === undefined ? {} : { before_id: beforeId };
  const query = { ...queryOf(filter), limit, ...before };
  const { data } = await body(
    api.GET('/api/logs', { params: { query }, ...(signal ? { signal } : {}) }),
  );
  return data;
}

/** The older and the newer lines in order, without duplicates. */
function merge(older: readonly LogLine[], newer: readonly LogLine[]): readonly LogLine[] {
  if (newer.length === 0) return older;
  const known = new Set(older.map(({ id }) => id));
  return [...older, ...newer.filter(({ id }) => !known.has(id))];
}
