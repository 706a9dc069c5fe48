import { loginExpired } from '../../lib/alerts/rules/login-expired.ts';
import { loginExpiring } from '../../lib/alerts/rules/login-expiring.ts';
import type { Finding as Found } from '../../lib/alerts/rules/rule.ts';
import type { Database } from '../../lib/database/database.ts';
import { cleanText } from '../../lib/text/clean-text.ts';
import { joinFirst } from './join-first.ts';
import { type Check, failed, ok, toCheck, warning } from './report.ts';
import { checkWithRules, findByRule } from './rules.ts';
import type { Subject } from './subject.ts';

/** Checks what recent runs found out about their logins to git hosts. Contacts no git host. */
export async function checkHostLogins(subject: Subject, db: Database): Promise<Check> {
  const found = await checkWithRules(subject, db, async (deps) => {
    const [refused, ending] = await Promise.all([
      findByRule(loginExpired, deps),
      findByRule(loginExpiring, deps),
    ]);
    const detail = joinFirst([...refused, ...ending].map(describe));
    if (refused.length > 0) return failed(detail, loginExpired.advice, { effect: 'none' });
    if (ending.length > 0) return warning(detail, loginExpiring.advice);
    return ok('no login of recent runs was refused or expires soon');
  });
  return toCheck('git_host_logins', found);
}

const describe = ({ summary, subject }: Found) =>
  `${cleanText(subject, 200)}: ${cleanText(summary, 300)}`;
