import { inspect } from 'node:util';
import type { Clock } from '../clock.ts';
import { createRedactor, type Redactor } from '../security/redaction/redactor.ts';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Extra fields of a log record. They must never contain arguments, credentials or bodies. */
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Writes one line of output, without its newline. */
export type WriteLine = (line: string) => void;

const toStderr: WriteLine = (line) => {
  process.stderr.write(`${line}\n`);
};

/**
 * A logger that writes one JSON object per line to stderr. All strings are redacted (by default only what
 * looks like a credential) and JSON escapes line breaks, so a hostile value can neither leak a credential nor
 * forge a record.
 */
export function createLog(
  level: LogLevel,
  clock: Clock,
  write: WriteLine = toStderr,
  redactor: Redactor = createRedactor([]),
): Log {
  const threshold = logLevels.indexOf(level);
  const at =
    (name: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (logLevels.indexOf(name) < threshold) return;
      const head = { time: new Date(clock.now()).toISOString(), level: name, message };
      write(writeRecord(head, fields, redactor));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function writeRecord(head: LogFields, fields: LogFields, redactor: Redactor): string {
  const readable = (_key: string, value: unknown) => makeReadable(value, redactor);
  try {
    return JSON.stringify({ ...head, ...fields }, readable);
  } catch {
    // Some value is not serializable, for example circular. Logging must never throw.
    const texts = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'object' ? inspect(value, { breakLength: Number.POSITIVE_INFINITY }) : value,
    ]);
    return JSON.stringify({ ...head, ...Object.fromEntries(texts) }, readable);
  }
}

function makeReadable(value: unknown, redactor: Redactor): unknown {
  if (typeof value === 'string') return redactor.text(value);
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return describeError(value);
  return value;
}

function describeError(error: Error): Record<string, unknown> {
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
    ...(error instanceof AggregateError ? { errors: error.errors } : {}),
  };
}
