import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { inUseSince } from './in-use.ts';
import type { Rule } from './rule.ts';

const MAX_LOGINS = 100;

const expiring: Statement = {
  name: 'alert_login_expiring',
  text: `SELECT git_host_url, ${iso('expires_at')} AS expires_at FROM host_logins AS login
    WHERE refused_since IS NULL AND expires_at > $1::timestamptz
      AND expires_at <= $1::timestamptz + interval '14 days'
      AND seen_at > ${inUseSince('$1::timestamptz')}
    ORDER BY git_host_url LIMIT ${MAX_LOGINS}`,
};

/** A login expires soon. */
export const loginExpiring: Rule = {
  name: 'login_expiring',
  title: 'The login of the git host expires soon',
  severity: 'warning',
  when: 'The token expires within 14 days, according to the git host. GitHub reports this for tokens that expire. A login that renews its own token expires when it can no longer do so.',
  advice:
    'Replace the token (GIT_TOKEN_PERSONAL or GIT_TOKEN_PRIVATE), or log in again with `npm run worker -- login github`.',
  resolved:
    'The token does not expire soon, or it is no longer used. If it has expired or is refused, another message says so.',
  async find({ db, now }) {
    const values = [new Date(now).toISOString()];
    const rows = await db.query<{ git_host_url: string; expires_at: string }>(expiring, values);
    return rows.map(({ git_host_url, expires_at }) => ({
      subject: git_host_url,
      summary: `The login for ${git_host_url} expires ${formatMinute(expires_at)}: log in again, or make a new token`,
      details: { expires_at },
    }));
  },
};
