import type { Registry } from 'prom-client';
import { type AllRepositoryMetrics, drillOutcomes } from '../../records/metrics/repositories.ts';
import { repositoryStates } from '../../records/repositories/freshness.ts';
import { cutText } from '../../text/cut-text.ts';
import { addGauge, type Sample } from './gauges.ts';

/** Names of the git host are shorter; another program may have written any. */
const MAX_LABEL_LENGTH = 300;

/** Adds the gauges of repositories: without values if nothing is known. `limit` is METRICS_REPOSITORIES. */
export function addRepositoryGauges(
  registry: Registry,
  metrics: AllRepositoryMetrics | null,
  limit: number,
): void {
  const one = (value: number | null | undefined): Sample[] => [[value ?? null]];
  addGauge(
    registry,
    'backup_repositories',
    'Tracked repositories by the state of their backup.',
    repositoryStates.map((state) => [metrics?.states[state] ?? null, { state }]),
  );
  addGauge(
    registry,
    'backup_repositories_by_drill',
    'Tracked repositories by the outcome of their last restore drill.',
    drillOutcomes.map((outcome) => [metrics?.drills[outcome] ?? null, { outcome }]),
  );
  addGauge(
    registry,
    'backup_archives_size_bytes',
    'Size of the newest good archives of all repositories.',
    one(metrics?.size_bytes),
  );
  addGauge(
    registry,
    'backup_oldest_good_timestamp_seconds',
    'When the repository was good that was so the longest ago, of those that ever were.',
    one(metrics?.oldest_good_at),
  );
  addGauge(
    registry,
    'backup_oldest_proof_timestamp_seconds',
    'When the repository was proven restorable that was so the longest ago, of those that ever were.',
    one(metrics?.oldest_proof_at),
  );
  addGauge(
    registry,
    'backup_freshness_limit_seconds',
    'A repository that was good longer ago is stale.',
    one(metrics?.fresh_seconds),
  );
  addGauge(
    registry,
    'backup_repository_series_limit',
    'METRICS_REPOSITORIES: with more tracked repositories none has series of its own.',
    one(limit),
  );
  addGauge(
    registry,
    'backup_repository_series_omitted',
    'Tracked repositories without series of their own, because there are more than the limit.',
    one(metrics && (metrics.each === null ? metrics.states.total : 0)),
  );
  addGaugesOfEach(registry, metrics?.each ?? []);
}

function addGaugesOfEach(
  registry: Registry,
  repositories: NonNullable<AllRepositoryMetrics['each']>,
): void {
  const each = repositories.map(({ name, ...rest }) => {
    return { ...rest, repository: cutText(name, MAX_LABEL_LENGTH) };
  });
  type Each = (typeof each)[number];
  const add = (name: string, help: string, pick: (one: Each) => number | null) =>
    addGauge(
      registry,
      `backup_repository_${name}`,
      help,
      each.map((one) => [pick(one), { repository: one.repository }]),
    );
  addGauge(
    registry,
    'backup_repository_state',
    'Always 1; the label says the state of the backup.',
    each.map(({ repository, state }) => [1, { repository, state }]),
  );
  addGauge(
    registry,
    'backup_repository_last_drill',
    'Always 1; the label says the outcome of the last restore drill.',
    each.map(({ repository, drill }) => [1, { repository, outcome: drill }]),
  );
  add(
    'last_good_timestamp_seconds',
    'When the repository was last backed up, or found unchanged.',
    (one) => one.good_at,
  );
  add('last_good_age_seconds', 'How long ago that was.', (one) => one.good_age);
  add(
    'last_version_timestamp_seconds',
    'When the newest version in the archive was made.',
    (one) => one.version_at,
  );
  add('size_bytes', 'Size of the newest good archive.', (one) => one.size_bytes);
  add(
    'consecutive_failures',
    'Failures since the repository was good, up to 1000.',
    (one) => one.failures,
  );
  add(
    'last_proof_timestamp_seconds',
    'When a restore drill last proved the repository restorable.',
    (one) => one.proven_at,
  );
}
