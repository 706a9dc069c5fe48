import { useEffect, useRef, useState } from 'react';
import { ApiError, api, body } from '../api/client.ts';
import { followLogs } from '../api/follow-logs.ts';
import type { LogLine } from '../parts/log-lines.tsx';
import { type LogFilter, matches, queryOf } from './log-filter.ts';

/** The most lines that are kept in memory. Older ones can be loaded again. */
const MAX_LINES = 5_000;
/** The same while the user reads earlier lines, so that these stay for several minutes of a busy log. */
const MAX_LINES_READING = 50_000;
const BACKLOG = 200;
/** How many missed lines are read at first, because there are rarely more, and then at a time. */
const FEW_MISSED = 100;
const MISSED_AT_ONCE = 500;
/** The interval at which new lines are shown together, however many there are. */
const SHOW_EVERY_MS = 250;
const RETRY_MS = 3_000;

export interface LiveLogs {
  /** Oldest first. */
  lines: readonly LogLine[];
  /** `silent`: the stream is open, but has given no sign of life for 40 seconds. */
  connection: 'connecting' | 'live' | 'lost' | 'silent';
  /** Why older lines could not be read. */
  error: Error | null;
  /** Null when there are no older lines. */
  loadOlder: (() => void) | null;
  isLoadingOlder: boolean;
}

interface View {
  lines: readonly LogLine[];
  hasOlder: boolean;
}

const noLines: View = { lines: [], hasOlder: false };

/** The newest log lines that match a filter, and each new one as it arrives. */
export function useLiveLogs(filter: LogFilter, isReading: boolean): LiveLogs {
  const { level, text, repository, run } = filter;
  const [{ lines, hasOlder }, setView] = useState(noLines);
  const [connection, setConnection] = useState<LiveLogs['connection']>('connecting');
  const [error, setError] = useState<Error | null>(null);
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
    const { signal } = following;
    const incoming: LogLine[] = [];
    /** All lines up to this id are shown, or were. */
    let seenTo = 0;
    let newestId = 0;
    /** Whether there may be lines above `seenTo` that the stream does not send. */
    let isBehind = false;
    let isReading = false;
    let stopFollowing: () => void = () => undefined;
    const append = (added: readonly LogLine[]) =>
      setView(({ lines, hasOlder }) => {
        const all = merge(lines, added);
        const isCut = all.length > maxLines.current;
        return { lines: all.slice(-maxLines.current), hasOlder: hasOlder || isCut };
      });

    /** Reads the lines above `seenTo`, however many there are. If there are too many to show, only the newest. */
    const readMissed = async () => {
      if (isReading || signal.aborted) return;
      isReading = true;
      try {
        while (isBehind) {
          isBehind = false;
          const { missed, isWhole } = await readAbove(wanted, seenTo, maxLines.current, signal);
          if (isWhole) append(missed);
          else setView({ lines: missed, hasOlder: true });
          const lastId = missed.at(-1)?.id ?? 0;
          newestId = Math.max(newestId, lastId);
          // Streamed lines of a run are not shown, but read. While behind, the stream has broken off meanwhile.
          if (run !== undefined) seenTo = Math.max(seenTo, lastId);
          else if (!isBehind) seenTo = newestId;
        }
        setError(null);
      } catch (error) {
        if (signal.aborted) return;
        isBehind = true;
        setError(error as Error);
        setTimeout(() => void readMissed(), RETRY_MS);
      } finally {
        isReading = false;
      }
    };
    const timer = setInterval(() => {
      if (incoming.length === 0) return;
      const added = incoming.splice(0);
      if (run === undefined) {
        append(added.filter((line) => matches(line, wanted)));
        return;
      }
      // Streamed lines do not name their run, so they only say when to read.
      isBehind = true;
      void readMissed();
    }, SHOW_EVERY_MS);

    const follow = () => {
      stopFollowing = followLogs((news) => {
        if (news.type === 'logs' || news.type === 'alive') {
          setConnection((before) => (before === 'silent' ? 'live' : before));
        }
        if (news.type === 'logs') {
          for (const { timestamp, ...log } of news.logs) {
            newestId = Math.max(newestId, log.id);
            incoming.push({ ...log, created_at: timestamp });
          }
          if (!isBehind && !isReading && run === undefined) seenTo = newestId;
        } else if (news.type === 'live') {
          setConnection('live');
          isBehind = true;
          void readMissed();
        } else if (news.type === 'connecting') {
          setConnection((before) => (before === 'silent' ? before : 'connecting'));
        } else if (news.type !== 'alive') {
          setConnection(news.type);
        }
      });
    };
    const start = async () => {
      try {
        // The newest id first: lines that are written between the two requests are then read again.
        const [newest] = await read({}, 1, signal);
        const backlog = await read(wanted, BACKLOG, signal);
        seenTo = newest?.id ?? 0;
        newestId = seenTo;
        setView({ lines: backlog.toReversed(), hasOlder: backlog.length === BACKLOG });
        setError(null);
        follow();
      } catch (error) {
        if (signal.aborted) return;
        setError(error as Error);
        // A server that is down may come back; one that rejects the request will reject it again.
        const isDown = error instanceof ApiError && (error.status === 0 || error.status >= 500);
        if (isDown) setTimeout(() => signal.aborted || void start(), RETRY_MS);
      }
    };
    setView(noLines);
    setError(null);
    setConnection('connecting');
    void start();
    return () => {
      following.abort();
      clearInterval(timer);
      stopFollowing();
    };
  }, [level, text, repository, run]);

  const loadOlder = async () => {
    const oldest = lines[0];
    if (oldest === undefined) return;
    setLoadingOlder(true);
    try {
      const older = await read(filter, BACKLOG, undefined, oldest.id);
      setView((view) => ({
        lines: merge(older.toReversed(), view.lines),
        hasOlder: older.length === BACKLOG,
      }));
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

/**
 * Reads the lines above an id, oldest first, but at most about `most` of the newest. They may be preceded by a few
 * below the id.
 */
async function readAbove(
  filter: LogFilter,
  id: number,
  most: number,
  signal: AbortSignal,
): Promise<{ missed: readonly LogLine[]; isWhole: boolean }> {
  const newestFirst: LogLine[] = [];
  for (;;) {
    const limit = newestFirst.length === 0 ? FEW_MISSED : MISSED_AT_ONCE;
    const page = await read(filter, limit, signal, newestFirst.at(-1)?.id);
    newestFirst.push(...page);
    const isWhole = page.length < limit || (page.at(-1)?.id ?? 0) <= id;
    if (isWhole || newestFirst.length >= most) return { missed: newestFirst.toReversed(), isWhole };
  }
}

/** All lines by id, without duplicates. */
function merge(lines: readonly LogLine[], added: readonly LogLine[]): readonly LogLine[] {
  const known = new Set(lines.map(({ id }) => id));
  const fresh = added.filter(({ id }) => !known.has(id));
  if (fresh.length === 0) return lines;
  return [...lines, ...fresh].sort((a, b) => a.id - b.id);
}
