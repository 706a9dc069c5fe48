import { describe, expect, it } from 'vitest';
import { createLog, type LogLevel } from '../lib/log/log.ts';
import { createRedactor } from '../lib/security/redaction/redactor.ts';
import { createTestClock } from './support/clock.ts';

function createTestLog(level: LogLevel = 'debug') {
  const lines: string[] = [];
  const log = createLog(level, createTestClock(), (line) => lines.push(line));
  return { log, lines, record: () => JSON.parse(lines[0] ?? '') };
}

describe('a log record', () => {
  it('is one line of JSON with time, level, message and fields', () => {
    const { log, record } = createTestLog();
    log.info('a run ended', { run_id: 7 });
    expect(record()).toEqual({
      time: '2026-03-04T05:06:00.000Z',
      level: 'info',
      message: 'a run ended',
      run_id: 7,
    });
  });

  it('cannot be forged with line breaks in a value', () => {
    const { log, lines } = createTestLog();
    log.info('one\n{"level":"error"}', { name: 'two\r\nthree\u2028four' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/[\r\n]/);
  });

  it('contains no credential, however deeply nested', () => {
    const { log, lines } = createTestLog();
    const error = new Error('clone of https://user:hunter2@host/x failed', {
      cause: new Error('Authorization: Bearer abcdefghijkl'),
    });
    log.error('git failed for ssh://git:hunter2@host', { error, list: ['http://a:hunter2@b'] });
    expect(lines[0]).not.toContain('hunter2');
    expect(lines[0]).not.toContain('abcdefghijkl');
  });

  it('contains no configured secret', () => {
    const lines: string[] = [];
    const redactor = createRedactor(['a configured secret']);
    const log = createLog('info', createTestClock(), (line) => lines.push(line), redactor);
    log.info('with a configured secret', { list: ['a configured secret'] });
    expect(lines[0]).not.toContain('a configured secret');
  });

  it('describes an error with its code, causes and parts', () => {
    const { log, record } = createTestLog();
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    log.warn('no answer', {
      error: new AggregateError([refused], '', { cause: new Error('why') }),
    });
    expect(record().error).toMatchObject({
      name: 'AggregateError',
      cause: { message: 'why' },
      errors: [{ message: 'refused', code: 'ECONNREFUSED' }],
    });
  });

  it('contains a bigint as text', () => {
    const { log, record } = createTestLog();
    log.info('large', { id: 2n ** 63n });
    expect(record().id).toBe('9223372036854775808');
  });

  it('is written even if a value cannot be serialized', () => {
    const { log, record, lines } = createTestLog();
    const circular: Record<string, unknown> = { url: 'https://user:hunter2@host' };
    circular.self = circular;
    log.info('odd', { request_id: 'mine', circular });
    expect(record()).toMatchObject({ message: 'odd', request_id: 'mine' });
    expect(record().circular).toContain('Circular');
    expect(lines[0]).not.toContain('hunter2');
  });
});

describe('the log level', () => {
  it.each<[LogLevel, string[]]>([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
  ])('%s writes %j', (level, passed) => {
    const { log, lines } = createTestLog(level);
    log.debug('x');
    log.info('x');
    log.warn('x');
    log.error('x');
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(passed);
  });
});
