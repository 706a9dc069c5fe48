import { Paper, Stack, Text } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { formatTime, nameOfZone } from './format.ts';
import classes from './log-lines.module.css';

export interface LogLine {
  id: number;
  level: string;
  message: string;
  repository: string | null;
  created_at: string;
}

/** The assumed height of a line before it is measured, in pixels. */
const LINE_HEIGHT = 22;
/** A reader within this distance of the end follows new lines, in pixels. */
const END_ZONE = 40;
/** The length to which a message is cut, in characters. */
const MAX_SHOWN = 10_000;

/**
 * The lines of a log, oldest first. Only those in view are in the document. Messages are untrusted: they are shown as
 * text, and one cannot affect how the next is shown. A reader at the end follows new lines.
 */
export function LogLines({
  logs,
  marked,
  onFollow,
}: {
  logs: readonly LogLine[];
  /** The id of a line to mark and to show first, instead of the last. */
  marked?: number;
  /** Called when the reader leaves the end, and when they come back to it. */
  onFollow?: (follows: boolean) => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const lastTop = useRef(0);
  const [follows, setFollows] = useState(marked === undefined);
  const virtualizer = useVirtualizer({
    count: logs.length,
    getScrollElement: () => frame.current,
    estimateSize: () => LINE_HEIGHT,
    getItemKey: (index) => logs[index]?.id ?? index,
    overscan: 10,
  });
  const last = logs.at(-1)?.id;
  useEffect(() => {
    if (follows && last !== undefined) virtualizer.scrollToIndex(logs.length - 1, { align: 'end' });
  }, [follows, last, logs.length, virtualizer]);
  const markedIndex = logs.findIndex(({ id }) => id === marked);
  useEffect(() => {
    if (markedIndex >= 0) virtualizer.scrollToIndex(markedIndex, { align: 'center' });
  }, [markedIndex, virtualizer]);
  const items = virtualizer.getVirtualItems();
  return (
    <Stack gap={4}>
      <Paper
        ref={frame}
        withBorder
        radius="md"
        className={classes.lines}
        tabIndex={0}
        role="log"
        aria-label="Log"
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          const isAtEnd = scrollHeight - scrollTop - clientHeight < END_ZONE;
          const wentUp = scrollTop < lastTop.current;
          lastTop.current = scrollTop;
          // New lines also move the end away, but the reader has not stopped following then.
          if (!isAtEnd && !wentUp) return;
          setFollows(isAtEnd);
          onFollow?.(isAtEnd);
        }}
      >
        <div style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          <div
            className={classes.shown}
            style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}
          >
            {items.map(({ index, key }) => {
              const log = logs[index];
              return (
                log && (
                  <div
                    key={key}
                    ref={virtualizer.measureElement}
                    data-index={index}
                    className={classes.line}
                    {...(log.id === marked ? { 'data-marked': true, 'aria-current': true } : {})}
                  >
                    <Line log={log} />
                  </div>
                )
              );
            })}
          </div>
        </div>
      </Paper>
      <Text size="xs" c="dimmed">
        Times are in {nameOfZone(new Date())}.
      </Text>
    </Stack>
  );
}

function Line({ log: { created_at, level, repository, message } }: { log: LogLine }) {
  return (
    <>
      <span className={classes.time}>{formatTime(created_at)}</span>
      <span className={classes.level} data-level={level.toLowerCase()}>
        {level.toLowerCase().slice(0, 10)}
      </span>
      <bdi className={classes.message}>
        {repository ? `${repository}: ` : ''}
        {message.length > MAX_SHOWN ? `${message.slice(0, MAX_SHOWN)}…` : message}
      </bdi>
    </>
  );
}
