import type { Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import { lastEndedRun } from '../../records/runs/last-runs.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { counted } from '../../text/units.ts';
import { START_A_RUN } from './advice.ts';
import type { Rule } from './rule.ts';

const MAX_SOURCES = 5;
const MAX_REASON_LENGTH = 300;

const lastRun: Statement = {
  name: 'alert_source_unread',
  text: `SELECT id, ${iso('started_at')} AS started_at,
      (schedule_ms IS NOT DISTINCT FROM 0)::int AS by_hand,
      (SELECT count(*) FROM jsonb_object_keys(unread_sources))::int AS number,
      ${jsonArray(`SELECT ${cutTextSql('value', MAX_REASON_LENGTH)} AS reason, ${cutTextSql('key', MAX_REASON_LENGTH)} AS source
        FROM jsonb_each_text(unread_sources) AS unread ORDER BY unread.key LIMIT ${MAX_SOURCES}`)} AS items
    FROM (${lastEndedRun('*')}) AS run WHERE jsonb_typeof(unread_sources) = 'object'`,
};

interface UnreadRun {
  id: number;
  /** 1 if a person started it once. */
  by_hand: number;
  started_at: string;
  number: number;
  items: string;
}

/** Finds the last run with unread sources, if a person started it once (`byHand`), or if a schedule or anything else did. */
const findUnread =
  (byHand: boolean): Rule['find'] =>
  async ({ db }) => {
    const rows = await db.query<UnreadRun>(lastRun);
    return rows
      .filter(({ by_hand }) => (by_hand === 1) === byHand)
      .map(({ id, started_at, number, items }) => {
        const named = JSON.parse(items) as { source: string; reason: string }[];
        const each = named.map(({ source, reason }) => `${source} (${reason})`).join(', ');
        const more = number > named.length ? ` and ${number - named.length} more` : '';
        return {
          subject: '',
          summary: `Run ${id} could not read ${counted(number, 'source')}: ${each}${more}`,
          details: { run_id: id, started_at },
        };
      });
  };

/** The newest run, which nobody is known to have started by hand, was given something that is no repository. */
export const sourceUnread: Rule = {
  name: 'source_unread',
  title: 'A source could not be read',
  severity: 'critical',
  when: 'The last run was given a source (`--source`) that it could not read and that no run ever read. It is not counted among the repositories. A run that somebody started once in a terminal counts as `source_unread_by_hand` instead.',
  advice: `Check the path or address, and the credentials of git for it. Then ${START_A_RUN}.`,
  resolved: 'The last run could read each of its sources, or was not given this one.',
  find: findUnread(false),
};

/** The same of a run that a person started: mostly a typo, which that person has seen. */
export const sourceUnreadByHand: Rule = {
  name: 'source_unread_by_hand',
  title: 'A source given by hand could not be read',
  severity: 'warning',
  when: 'The same, of a run that somebody started once in a terminal: mostly a typo.',
  advice: sourceUnread.advice,
  resolved: sourceUnread.resolved,
  find: findUnread(true),
};
