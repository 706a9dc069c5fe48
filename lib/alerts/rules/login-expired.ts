import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { START_A_RUN } from './advice.ts';
import { describeFailing, oneIncident } from './concern.ts';
import { inUseSince } from './in-use.ts';
import type { NotGoodRepository } from './not-good.ts';
import type { Finding, Rule } from './rule.ts';

const MAX_LOGINS = 100;

const refused: Statement = {
  name: 'alert_login_expired',
  text: `SELECT git_host_url, ${cutTextSql('reason', 1_000)} AS reason, ${iso('expires_at')} AS expires_at
    FROM host_logins AS login
    WHERE (refused_since IS NOT NULL OR expires_at <= $1::timestamptz)
      AND seen_at > ${inUseSince('$1::timestamptz')}
    ORDER BY git_host_url LIMIT ${MAX_LOGINS}`,
};

interface RefusedLogin {
  git_host_url: string;
  reason: string;
  expires_at: string | null;
}

/** Whether the last failure of a repository was caused by the login. */
export function isOfLogin({ fault }: NotGoodRepository): boolean {
  return fault === 'login';
}

/** The git host refuses the login. */
export const loginExpired: Rule = {
  name: 'login_expired',
  title: 'The git host refuses the login',
  severity: 'critical',
  when: 'The git host refused the login of the last run, for the whole run or for a repository, or the login has expired.',
  advice: `Replace the token (GIT_TOKEN_PERSONAL or GIT_TOKEN_PRIVATE), or log in again with \`npm run worker -- login github\`. Then ${START_A_RUN}.`,
  resolved: 'The login is no longer refused, or is no longer used.',
  async find({ db, now, notGood }) {
    const logins = await db.query<RefusedLogin>(refused, [new Date(now).toISOString()]);
    const findings: Finding[] = logins.map(({ git_host_url, reason, expires_at }) => ({
      subject: git_host_url,
      summary:
        reason === '' && expires_at !== null
          ? `The login for ${git_host_url} expired ${formatMinute(expires_at)}`
          : reason,
      details: { expires_at },
    }));
    const repositories = (await notGood()).filter(isOfLogin).map(describeFailing);
    return [
      ...findings,
      ...oneIncident(repositories, (count) => `The login may not read ${count}`),
    ];
  },
};
