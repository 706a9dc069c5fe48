import type { LogLine } from '../parts/log-lines.tsx';

/** The filters of the log, as the address has them. */
export interface LogFilter {
  level?: 'debug' | 'info' | 'warn' | 'error';
  /** Words that the line contains. */
  text?: string;
  repository?: string;
  run?: number;
}

/** The filters as the API takes them. */
export function queryOf({ run, ...rest }: LogFilter) {
  return run === undefined ? rest : { ...rest, run_id: run };
}

/** Does a new line fit the filters? Lines do not tell their run. */
export function fits(line: LogLine, { level, text, repository }: LogFilter): boolean {
  const message = `${line.message} ${line.repository ?? ''}`.toLowerCase();
  const words = text?.toLowerCase().split(/\s+/) ?? [];
  return (
    (level === undefined || line.level.toLowerCase() === level) &&
    (repository === undefined || line.repository?.toLowerCase() === repository.toLowerCase()) &&
    words.every((word) => message.includes(word))
  );
}
