const INTERRUPTED = 'interrupted by ';

/** The error message of a run whose worker got a signal, such as SIGINT. */
export function describeInterrupt(signal: string): string {
  return `${INTERRUPTED}${signal}`;
}

/**
 * SQL for whether the row `run` of backup_runs was stopped on purpose, with Ctrl-C or by what ended its worker. A run
 * of several workers also says on which machine. A terminal that was closed (SIGHUP) is none of this.
 */
export const isStoppedRun = `(run.status = 'failed' AND
  coalesce(run.error_message, '') ~ '^${INTERRUPTED}SIG(INT|TERM)($| \\(on )')`;
