import { anomaly } from './anomaly.ts';
import { archiveLost } from './archive-lost.ts';
import { databaseUnreachable } from './database-unreachable.ts';
import { destinationUnreachable } from './destination-unreachable.ts';
import { diskFilling } from './disk-filling.ts';
import { drillFailed } from './drill-failed.ts';
import { loginExpired } from './login-expired.ts';
import { loginExpiring } from './login-expiring.ts';
import { repositoryFailing } from './repository-failing.ts';
import { repositoryStale } from './repository-stale.ts';
import type { Rule, RuleName } from './rule.ts';
import { runFailed } from './run-failed.ts';
import { runMissed } from './run-missed.ts';
import { runSlow } from './run-slow.ts';
import { sourceUnread, sourceUnreadByHand } from './source-unread.ts';

/** All rules, by their names. */
export const rules: Readonly<Record<RuleName, Rule>> = {
  archive_lost: archiveLost,
  run_failed: runFailed,
  run_missed: runMissed,
  run_slow: runSlow,
  source_unread: sourceUnread,
  source_unread_by_hand: sourceUnreadByHand,
  repository_stale: repositoryStale,
  repository_failing: repositoryFailing,
  destination_unreachable: destinationUnreachable,
  database_unreachable: databaseUnreachable,
  login_expired: loginExpired,
  login_expiring: loginExpiring,
  disk_filling: diskFilling,
  drill_failed: drillFailed,
  anomaly,
};
