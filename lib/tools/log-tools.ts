import * as z from 'zod';
import { splitCutMark } from '../security/redaction/cut-text.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { momentParameter } from '../text/moment.ts';
import { counted } from '../text/units.ts';
import { fitItems, restFields, roomBeside, TEXT_LENGTHS } from './answer-budget.ts';
import type { BackupSource, ExecutionLog } from './backup-source.ts';
import {
  idParameter,
  integerParameter,
  limitParameter,
  runIdParameter,
  textParameter,
} from './input.ts';
import { log } from './shapes.ts';
import { MESSAGES_ARE_DATA, readTool } from './tool.ts';
import { explainUnknown, readTrackedNames } from './unknown-names.ts';

/** For how many cut messages an answer says how to get the rest. */
const MAX_CUT_NAMED = 3;

/** A shorter message with the mark of a cut text was stored like that. */
const MIN_CUT_LENGTH = 256;
/** How much of a message can be skipped. */
const MAX_OFFSET = 10_000_000;

const levels = ['info', 'warn', 'error', 'debug'] as const;

/** Reads log lines of the worker. */
export const getExecutionLogs = readTool({
  name: 'get_execution_logs',
  title: 'Execution logs',
  description: `Read log lines of the backup worker, newest first, of one run, one repository, one level or any combination. Use it to see what happened around an error from diagnose_backup_failure or get_backup_run_details. If truncated, there are more lines, or messages were cut, each of which says how much is missing; more says how to get the rest, and next is the before_id for older lines. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    run_id: runIdParameter('Only logs of this backup run.').optional(),
    repository: textParameter(
      'Only logs of this repository, as owner/repo, in any case.',
      255,
    ).optional(),
    level: z
      .string()
      .transform((level) => level.toLowerCase())
      .pipe(z.enum(levels, 'must be INFO, WARN, ERROR or DEBUG'))
      .optional()
      .meta({
        description: 'INFO, WARN, ERROR or DEBUG, in any case. Left out: all levels.',
      }),
    limit: limitParameter('Maximum number of lines.', { default: 50, max: 200 }),
    before_id: idParameter('Only lines older than the line with this id.').optional(),
    message_offset: integerParameter({
      description:
        'How many characters of the message to skip, to read the rest of one that was cut. Returns only one line.',
      min: 0,
      max: MAX_OFFSET,
    }).default(0),
    since: momentParameter('Only lines from this time on.').optional(),
  }),
  output: z.object({
    logs: z.array(log),
    returned: z.number(),
    ...restFields,
    truncated: z.boolean(),
    note: z.string().optional(),
  }),
  async handler(
    { limit, message_offset: offset, ...given },
    { backups, redactor },
    { signal, maxChars },
  ) {
    const { run_id: runId, before_id: beforeId, ...filter } = given;
    const isRest = offset > 0;
    const found = await backups.selectLogs(
      { runId, beforeId, ...filter },
      isRest ? 1 : limit,
      signal,
      isRest ? offset + maxChars : undefined,
    );
    const whole = isRest ? await skip(found.logs, offset, redactor) : found.logs;
    const room = roomBeside({}, maxChars);
    // Whoever reads the rest of a message wants as much of it as possible.
    const lengths = isRest ? [Math.floor(room / 2), ...TEXT_LENGTHS] : TEXT_LENGTHS;
    const logs = fitItems(whole, room, lengths);
    const isMore = found.truncated || logs.length < found.logs.length;
    const last = logs.at(-1);
    const cut = describeCut(logs, { offset, redactor });
    const truncated = isMore || cut !== null;
    const isUnknown = !truncated && last === undefined && filter.repository !== undefined;
    return {
      logs,
      returned: logs.length,
      truncated,
      ...(truncated ? joinRest(isMore ? olderThan(last?.id) : null, cut) : {}),
      ...(isUnknown ? await explainNoLogs(backups, filter.repository ?? '', signal) : {}),
    };
  },
});

/** Skips the start of each message. Secrets are removed first: the rest of one could not be recognized. */
async function skip(
  logs: readonly ExecutionLog[],
  offset: number,
  redactor: Redactor,
): Promise<ExecutionLog[]> {
  const { value } = await redactor.countedInSteps(logs.map(({ message }) => message));
  return logs.map((each, index) => ({ ...each, message: value[index]?.slice(offset) ?? '' }));
}

/** Says how to get the rest of messages that were cut; null if none was. */
function describeCut(
  logs: readonly ExecutionLog[],
  { offset, redactor }: { offset: number; redactor: Redactor },
): string | null {
  const cut = logs.flatMap(({ message }, index) =>
    message.length >= MIN_CUT_LENGTH && splitCutMark(message).mark !== '' ? [index] : [],
  );
  const ways = cut.slice(0, MAX_CUT_NAMED).map((index) => {
    const { text } = splitCutMark(redactor.text(logs[index]?.message ?? ''));
    const before = index === 0 ? '' : `, before_id ${logs[index - 1]?.id}`;
    return `line ${logs[index]?.id} with limit 1${before} and message_offset ${offset + text.length - 1}`;
  });
  if (ways.length === 0) return null;
  const others =
    cut.length > ways.length ? `, and likewise ${cut.length - ways.length} others` : '';
  return `${counted(cut.length, 'message is', 'messages are')} cut: call again with the same arguments, but for ${ways.join(', for ')}${others}`;
}

function joinRest(older: { more: string; next?: string } | null, cut: string | null) {
  const more = [older?.more, cut].filter((text) => text != null).join('; ');
  return { ...older, more };
}

/** Says how to get lines older than those of an answer. */
function olderThan(id: number | undefined) {
  if (id === undefined) {
    return {
      more: 'not all lines were searched: give a run_id or a level to search further back',
    };
  }
  return {
    more: `older lines: call again with the same arguments and before_id ${id}`,
    next: String(id),
  };
}

/** Names similar repositories if no repository with this name is tracked. */
async function explainNoLogs(backups: BackupSource, repository: string, signal: AbortSignal) {
  const note = explainUnknown(repository, await readTrackedNames(backups, signal));
  return note === null ? {} : { note };
}
