import { Paper, Text } from '@mantine/core';
import { formatTime } from './format.ts';
import classes from './log-lines.module.css';

export interface LogLine {
  id: number;
  level: string;
  message: string;
  repository: string | null;
  created_at: string;
}

/** Lines of a log, oldest first. What others wrote is shown as text, each line apart from the others. */
export function LogLines({ logs }: { logs: readonly LogLine[] }) {
  return (
    <Paper
      withBorder
      radius="md"
      className={classes.lines}
      tabIndex={0}
      role="log"
      aria-label="Log"
    >
      {logs.map((log) => (
        <div key={log.id} className={classes.line}>
          <Text span inherit c="dimmed" className={classes.time}>
            {formatTime(log.created_at)}
          </Text>
          <span className={classes.level} data-level={log.level.toLowerCase()}>
            {log.level.toLowerCase()}
          </span>
          <bdi className={classes.message}>
            {log.repository ? `${log.repository}: ` : ''}
            {log.message}
          </bdi>
        </div>
      ))}
    </Paper>
  );
}
