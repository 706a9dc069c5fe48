import { useEffect, useRef, useState } from 'react';
import { ApiError, api, body } from '../api/client.ts';
import type { LogLine } from '../parts/log-lines.tsx';
import { fits, type LogFilter, queryOf } from './log-filter.ts';

/** Lines that are kept; older ones can be read again. */
const MAX_LINES = 5_000;
/** What a person reads stays while lines of several minutes come. */
const MAX_LINES_READING = 50_000;
const BACKLOG = 200;
/** The most lines of a run that are read at once. */
const MAX_BEHIND = 500;
/** Lines are shown together this often, however many come. */
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

/** The newest logs that fit a filter, and each new one as it comes. */
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
    const left = new AbortController();
    const incoming: LogLine[] = [];
    let lastId = 0;
    let source: EventSource | null = null;
    let isAsking = false;
    const append = (news: readonly LogLine[]) =>
      setLines((lines) => merge(lines, news).slice(-maxLines.current));

    /** The stream does not tell the run of a line: it only says when to ask. */
    const readRun = async () => {
      if (isAsking) return;
      isAsking = true;
      try {
        append((await read(wanted, MAX_BEHIND, left.signal)).toReversed());
      } catch (error) {
        if (!left.signal.aborted) setError(error as Error);
      } finally {
        isAsking = false;
      }
    };
    const timer = setInterval(() => {
      if (incoming.length === 0 || isAsking) return;
      const news = incoming.splice(0);
      if (run === undefined) append(news.filter((line) => fits(line, wanted)));
      else void readRun();
    }, SHOW_EVERY_MS);

    const follow = () => {
      source = new EventSource(`/api/logs/stream?after_id=${lastId}`);
      source.onopen = () => setConnection('live');
      source.onerror = () => {
        if (left.signal.aborted) return;
        setConnection('lost');
        // The browser reconnects by itself, from the last line that it got, unless it was refused.
        if (source?.readyState === EventSource.CLOSED) setTimeout(retry, RETRY_MS);
      };
      source.addEventListener('log', ({ data }) => {
        const { timestamp, ...log } = JSON.parse(data) as StreamedLog;
        lastId = Math.max(lastId, log.id);
        incoming.push({ ...log, created_at: timestamp });
      });
    };
    const retry = () => {
      if (!left.signal.aborted) follow();
    };
    const start = async () => {
      try {
        // First, so that what is written between the two questions comes over the stream too.
        const [newest] = await read({}, 1, left.signal);
        const backlog = await read(wanted, BACKLOG, left.signal);
        lastId = newest?.id ?? 0;
        append(backlog.toReversed());
        setHasOlder(backlog.length === BACKLOG);
        setError(null);
        follow();
      } catch (error) {
        if (left.signal.aborted) return;
        setError(error as Error);
        // A server that is away comes back; one that refuses the question will refuse it again.
        const isAway = error instanceof ApiError && (error.status === 0 || error.status >= 500);
        if (isAway) setTimeout(() => left.signal.aborted || void start(), RETRY_MS);
      }
    };
    setLines([]);
    setError(null);
    setHasOlder(false);
    void start();
    return () => {
      left.abort();
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

/** Newest first. */
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

/** Both in order, each line once. */
function merge(older: readonly LogLine[], newer: readonly LogLine[]): readonly LogLine[] {
  if (newer.length === 0) return older;
  const known = new Set(older.map(({ id }) => id));
  return [...older, ...newer.filter(({ id }) => !known.has(id))];
}
