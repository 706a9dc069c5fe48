import type { Registry } from 'prom-client';
import {
  type AllRepositoryMetrics,
  lastDrillOutcomes,
} from '../../records/prometheus/repositories.ts';
import { repositoryStates } from '../../records/repositories/repository-states.ts';
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
  const gauges: [name: string, help: string, value: number | null | undefined][] = [
    [
      'archives_size_bytes',
      'Size of the newest good archives of all repositories.',
      metrics?.size_bytes,
    ],
    [
      'oldest_good_timestamp_seconds',
      'When the repository longest without a good backup had its last one, of those that ever did.',
      metrics?.oldest_good_at,
    ],
    [
      'oldest_proof_timestamp_seconds',
      'When the repository longest without a proof had its last one, of those that ever did.',
      metrics?.oldest_proof_at,
    ],
    [
      'freshness_limit_seconds',
      'A repository that was good longer ago is stale.',
      metrics?.fresh_seconds,
    ],
    [
      'repository_series_limit',
      'METRICS_REPOSITORIES: with more tracked repositories none has series of its own.',
      limit,
    ],
    [
      'repository_series_omitted',
      'Tracked repositories without series of their own, because there are more than the limit.',
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
    'Tracked repositories by the outcome of their last restore drill. A failed one counts until a later one succeeds.',
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
    'Always 1; the label says the state of the backup.',
    each.map(({ repository, state }) => [1, { repository, state }]),
  );
  addGauge(
    registry,
    'backup_repository_last_drill',
    'Always 1; the label says the outcome of the last restore drill. A failed one counts until a later one succeeds.',
    each.map(({ repository, drill }) => [1, { repository, outcome: drill }]),
  );
  const gauges: [name: string, help: string, pick: (one: Each) => number | null][] = [
    [
      'last_good_timestamp_seconds',
      'When the repository was last backed up, or found unchanged.',
      (one) => one.good_at,
    ],
    ['last_good_age_seconds', 'How long ago that was.', (one) => one.good_age],
    [
      'last_version_timestamp_seconds',
      'When the newest version in the archive was made.',
      (one) => one.version_at,
    ],
    ['size_bytes', 'Size of the newest good archive.', (one) => one.size_bytes],
    [
      'consecutive_failures',
      'Failures since the repository was good, up to 1000.',
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
