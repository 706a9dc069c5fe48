import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { lastEndedRun } from '../../records/runs/last-runs.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { START_A_RUN } from './advice.ts';
import type { Rule } from './rule.ts';

const MAX_REASON_LENGTH = 1_000;

// A run whose login was refused is reported by `login_expired`, and one that found its archive folder empty by
// `archive_lost`.
const lastRun: Statement = {
  name: 'alert_run_failed',
  text: `SELECT id, ${iso('started_at')} AS started_at, ${cutTextSql('error_message', MAX_REASON_LENGTH)} AS reason
    FROM (${lastEndedRun('*')}) AS run
    WHERE status = 'failed' AND NOT EXISTS (
      SELECT FROM host_logins WHERE refused_since IS NOT NULL AND refused_run_id = run.id
    ) AND NOT (fault IS NOT DISTINCT FROM 'no_archives' AND EXISTS (
      SELECT FROM worker_repo_state WHERE archive_missing_since IS NOT NULL AND archive_missing_kind = 'folder'
    ))`,
};

interface FailedRun {
  id: number;
  started_at: string;
  reason: string;
}

/** The newest run failed as a whole. */
export const runFailed: Rule = {
  name: 'run_failed',
  title: 'The last backup run failed',
  severity: 'critical',
  when: 'The last run failed as a whole: its worker was killed, or it could not do its work, for example without a login. One that was stopped on the page, with Ctrl-C or SIGTERM does not count.',
  advice: `Read the log of the run, fix the cause, and ${START_A_RUN}.`,
  resolved:
    'The last run reached its end. If its login was refused instead, another message says so.',
  async find({ db }) {
    const rows = await db.query<FailedRun>(lastRun);
    return rows.map(({ id, started_at, reason }) => ({
      subject: '',
      summary: `Run ${id} failed: ${reason === '' ? 'no reason was recorded' : reason}`,
      details: { run_id: id, started_at },
    }));
  },
};
