import type { FreshnessConfig } from '../../config/freshness.ts';
import type { Database } from '../../database/database.ts';
import type { Unwell } from './unwell.ts';

/** The names of the rules, in the order of their incidents. */
export const ruleNames = [
  'run_failed',
  'run_missed',
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
}

/** What a rule found: the incident of this subject opens, or stays open. */
export interface Finding {
  /** What it is about, such as a store; empty if the rule has only one subject. */
  subject: string;
  /** One sentence for a person. */
  summary: string;
  /** Figures for readers of the API. */
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
  unwell(): Promise<readonly Unwell[]>;
}

/** What a user may decide about rules. */
export interface AlertRulesConfig {
  ALERT_FAILING_AFTER: number;
}

/** A rule: when there is an incident, and about what. */
export interface Rule {
  name: RuleName;
  /** The incident as a title. */
  title: string;
  severity: Severity;
  /** When it holds, for the document. */
  when: string;
  /** What to do, for the document and the messages. */
  advice: string;
  /** What is true once it finds nothing, as a sentence. It must hold whatever ended the incident. */
  resolved: string;
  /** What it finds now, of each subject at most one. A bounded number of statements, each bounded. */
  find(context: RuleContext): Promise<readonly Finding[]>;
}
