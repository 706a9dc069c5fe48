import type { LogLine } from '../parts/log-lines.tsx';

/** The filters of the log, as in the address of the page. */
export interface LogFilter {
  level?: 'debug' | 'info' | 'warn' | 'error';
  /** Words, all of which the line contains. */
  text?: string;
  repository?: string;
  run?: number;
}

/** What the address of the page selects: a filter, or the lines around one line. */
export interface LogSearch extends LogFilter {
  /** The id of the line. */
  line?: number;
}

/** The filters as query parameters of the API. */
export function queryOf({ run, ...rest }: LogFilter) {
  return run === undefined ? rest : { ...rest, run_id: run };
}

/** Whether a streamed line matches the filters, except for the run, which it does not name. */
export function matches(line: LogLine, { level, text, repository }: LogFilter): boolean {
  const message = `${line.message} ${line.repository ?? ''}`.toLowerCase();
  const words = text?.toLowerCase().split(/\s+/) ?? [];
  return (
    (level === undefined || line.level.toLowerCase() === level) &&
    (repository === undefined || line.repository?.toLowerCase() === repository.toLowerCase()) &&
    words.every((word) => message.includes(word))
  );
}
