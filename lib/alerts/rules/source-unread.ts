import type { Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { counted } from '../../text/units.ts';
import { START_A_RUN } from './advice.ts';
import type { Rule } from './rule.ts';

/** How many sources have an incident of their own. One more incident counts the rest. */
const MAX_SOURCES = 20;
const MAX_TEXT_LENGTH = 300;
/** In how many finished runs sources are looked for. */
const RUNS_READ = 20;

// For each source the newest run that could not read it, unless it is over: because a later run reached its end without
// that, so it read the source or was not given it, or because a run has read it since, even one that was stopped. What a
// person starts once in between is usually given something else, and says nothing about the sources of a schedule.
const openSources: Statement = {
  name: 'alert_source_unread',
  text: `WITH finished AS MATERIALIZED (
      SELECT id, started_at, unread_sources, schedule_ms IS NOT DISTINCT FROM 0 AS by_hand,
        status <> 'failed' AS is_whole,
        row_number() OVER (ORDER BY run.started_at DESC, run.id DESC) AS age
      FROM (
        SELECT * FROM backup_runs AS run WHERE run.status <> 'running' AND isfinite(run.started_at)
        ORDER BY run.started_at DESC, run.id DESC LIMIT ${RUNS_READ}
      ) AS run
    ), unread AS MATERIALIZED (
      SELECT DISTINCT ON (entry.key) entry.key, entry.value, finished.*
      FROM finished, jsonb_each_text(finished.unread_sources) AS entry
      WHERE jsonb_typeof(finished.unread_sources) = 'object' ORDER BY entry.key, age
    ), open AS (
      SELECT id, started_at, by_hand, age, ${cutTextSql('unread.key', MAX_TEXT_LENGTH)} AS source,
        ${cutTextSql('unread.value', MAX_TEXT_LENGTH)} AS reason
      FROM unread WHERE by_hand = ($1::int = 1) AND NOT EXISTS (
        SELECT FROM finished AS later
        WHERE later.age < unread.age AND later.is_whole AND (unread.by_hand OR NOT later.by_hand)
      ) AND NOT EXISTS (
        SELECT FROM repository_sources AS source
        JOIN worker_repo_state AS state ON state.repo_full_name = source.repo_full_name
        WHERE state.checked_at > unread.started_at
          AND (source.address = unread.key OR starts_with(source.address, rtrim(unread.key, '/') || '/'))
      )
    )
    SELECT (SELECT count(*) FROM open)::int AS number, ${jsonArray(`
      SELECT id, ${iso('started_at')} AS started_at, source, reason FROM (
        SELECT DISTINCT ON (source) * FROM open ORDER BY source, age
      ) AS one ORDER BY age, source LIMIT ${MAX_SOURCES}`)} AS items`,
};

interface UnreadSource {
  /** The run that could not read it. */
  id: number;
  started_at: string;
  source: string;
  reason: string;
}

/** Finds the sources that a run started by hand (`byHand`), or one of a schedule or anything else, could not read. */
const findUnread =
  (byHand: boolean): Rule['find'] =>
  async ({ db }) => {
    const [row] = await db.query<{ number: number; items: string }>(openSources, [Number(byHand)]);
    const found: UnreadSource[] = JSON.parse(row?.items ?? '[]');
    const more = (row?.number ?? 0) - found.length;
    return [
      ...found.map(({ id, started_at, source, reason }) => ({
        subject: source,
        summary: `Run ${id} could not read the source ${source} (${reason})`,
        details: { run_id: id, started_at, source },
      })),
      ...(found.length === MAX_SOURCES && more > 0
        ? [
            {
              subject: '',
              summary: `${counted(more, 'more source')} could not be read: the page of run ${found[0]?.id} names them`,
              details: { run_id: found[0]?.id ?? null },
            },
          ]
        : []),
    ];
  };

/** A source that a run, which nobody is known to have started by hand, was given and that was never read. */
export const sourceUnread: Rule = {
  name: 'source_unread',
  title: 'A source could not be read',
  severity: 'critical',
  when: 'A run was given a source (`--source`) that it could not read and that no run ever read. Each such source is an incident of its own, and none counts as a repository. It ends when a run has read the source, or when a later run reaches its end without being given it. A run that somebody started once in a terminal counts as `source_unread_by_hand` instead, and ends no incident of a schedule unless it reads the source.',
  advice: `Check the path or address, and the credentials of git for it. Then ${START_A_RUN}.`,
  resolved: 'The source was read since, or the last run was not given it.',
  find: findUnread(false),
};

/** The same of a run that a person started: mostly a typo, which that person has seen. */
export const sourceUnreadByHand: Rule = {
  name: 'source_unread_by_hand',
  title: 'A source given by hand could not be read',
  severity: 'warning',
  when: 'The same, of a run that somebody started once in a terminal: mostly a typo. It ends after any run that could read the source, or was not given it.',
  advice: sourceUnread.advice,
  resolved: sourceUnread.resolved,
  find: findUnread(true),
};
