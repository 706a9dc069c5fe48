import type { Registry } from 'prom-client';
import {
  type AllRepositoryMetrics,
  lastDrillOutcomes,
} from '../../records/prometheus/repositories.ts';
import { repositoryStates } from '../../records/repositories/repository-states.ts';
import { cutText } from '../../security/redaction/cut-text.ts';
import { addGauge, type Sample } from './gauges.ts';

/** Git hosts have shorter names, but another program may have written any. */
const MAX_LABEL_LENGTH = 300;

/** Adds the gauges of repositories, without values if `metrics` is null. `limit` is METRICS_REPOSITORIES. */
export function addRepositoryGauges(
  registry: Registry,
  metrics: AllRepositoryMetrics | null,
  limit: number,
): void {
  const gauges: [name: string, help: string, value: number | null | undefined][] = [
    [
      'archives_size_bytes',
      'Size of the newest good archives of all repositories.',
      metrics?.size_bytes,
    ],
    [
      'oldest_good_timestamp_seconds',
      'Last good backup of the repository that has gone longest without one, among those that ever had one.',
      metrics?.oldest_good_at,
    ],
    [
      'oldest_proof_timestamp_seconds',
      'Last proof of the repository that has gone longest without one, among those that ever had one.',
      metrics?.oldest_proof_at,
    ],
    [
      'freshness_limit_seconds',
      'A repository last good longer ago than this is stale.',
      metrics?.fresh_seconds,
    ],
    [
      'repository_series_limit',
      'METRICS_REPOSITORIES: with more tracked repositories, none has its own series.',
      limit,
    ],
    [
      'repository_series_omitted',
      'Tracked repositories without their own series because there are more than the limit.',
      metrics && (metrics.each === null ? metrics.states.total : 0),
    ],
  ];
  for (const [name, help, value] of gauges) {
    addGauge(registry, `backup_${name}`, help, [[value ?? null]]);
  }
  addGauge(
    registry,
    'backup_repositories',
    'Tracked repositories by the state of their backup.',
    repositoryStates.map((state) => [metrics?.states[state] ?? null, { state }]),
  );
  addGauge(
    registry,
    'backup_repositories_by_drill',
    'Tracked repositories by the outcome of their last restore drill. A failure counts until a later drill succeeds.',
    lastDrillOutcomes.map((outcome) => [metrics?.drills[outcome] ?? null, { outcome }]),
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
  addGauge(
    registry,
    'backup_repository_state',
    'Always 1; the label is the state of the backup.',
    each.map(({ repository, state }) => [1, { repository, state }]),
  );
  addGauge(
    registry,
    'backup_repository_last_drill',
    'Always 1; the label is the outcome of the last restore drill. A failure counts until a later drill succeeds.',
    each.map(({ repository, drill }) => [1, { repository, outcome: drill }]),
  );
  const gauges: [name: string, help: string, pick: (one: Each) => number | null][] = [
    [
      'last_good_timestamp_seconds',
      'When the repository was last backed up, or found unchanged.',
      (one) => one.good_at,
    ],
    [
      'last_good_age_seconds',
      'Time since the repository was last backed up, or found unchanged.',
      (one) => one.good_age,
    ],
    [
      'last_version_timestamp_seconds',
      'When the newest version in the archive was made.',
      (one) => one.version_at,
    ],
    ['size_bytes', 'Size of the newest good archive.', (one) => one.size_bytes],
    [
      'consecutive_failures',
      'Failures since the repository was last good, up to 1000.',
      (one) => one.failures,
    ],
    [
      'last_proof_timestamp_seconds',
      'When a restore drill last proved the repository restorable.',
      (one) => one.proven_at,
    ],
  ];
  for (const [name, help, pick] of gauges) {
    const samples = each.map((one): Sample => [pick(one), { repository: one.repository }]);
    addGauge(registry, `backup_repository_${name}`, help, samples);
  }
}
