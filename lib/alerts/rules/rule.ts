import type { FreshnessConfig } from '../../config/freshness.ts';
import type { Database } from '../../database/database.ts';
import type { NotGoodRepository } from './not-good.ts';

/** The names of the rules, in the order of their incidents. */
export const ruleNames = [
  'archive_lost',
  'run_failed',
  'run_missed',
  'run_slow',
  'source_unread',
  'source_unread_by_hand',
  'repository_stale',
  'repository_failing',
  'destination_unreachable',
  'database_unreachable',
  'login_expired',
  'login_expiring',
  'disk_filling',
  'drill_failed',
  'anomaly',
] as const;
export type RuleName = (typeof ruleNames)[number];

/** How urgent an incident is. */
export type Severity = 'warning' | 'critical';

/** A repository that an incident concerns. */
export interface ConcernedRepository {
  name: string;
  reason: string;
  /** ISO 8601; null if unknown. */
  since: string | null;
  /** How bad it is. Default: a failure. */
  severity?: RepositorySeverity;
}

/**
 * How bad the problem of a repository is. One that joins an open incident is told at once if it is worse than all
 * others there; a lost archive always is.
 */
export const repositorySeverity = { failure: 0, loss: 1, archive: 2, nothing: 3 } as const;
export type RepositorySeverity = (typeof repositorySeverity)[keyof typeof repositorySeverity];

/** What a rule found: an incident with this subject opens, or stays open. */
export interface Finding {
  /** What it is about, such as a store; empty if the rule has only one subject. */
  subject: string;
  /** One sentence for people. */
  summary: string;
  /** Figures for users of the API. */
  details?: Readonly<Record<string, string | number | null>>;
  /** At most MAX_REPOSITORIES. */
  repositories?: readonly ConcernedRepository[];
}

/** What rules are evaluated with. */
export interface RuleContext {
  db: Database;
  /** Milliseconds since the epoch. */
  now: number;
  config: AlertRulesConfig & FreshnessConfig;
  /** The repositories that are not good, read once for all rules. */
  notGood(): Promise<readonly NotGoodRepository[]>;
}

/** What users can configure about rules. */
export interface AlertRulesConfig {
  ALERT_FAILING_AFTER: number;
}

/** A rule: when there is an incident, and about what. */
export interface Rule {
  name: RuleName;
  /** The title of the incident. */
  title: string;
  severity: Severity;
  /** When an incident is open, for the documentation. */
  when: string;
  /** What to do, for the documentation and the messages. */
  advice: string;
  /** What holds once the rule finds nothing, as a sentence. It must be true whatever ended the incident. */
  resolved: string;
  /** What it finds now, at most one finding per subject. Runs a bounded number of statements, each bounded. */
  find(context: RuleContext): Promise<readonly Finding[]>;
}
