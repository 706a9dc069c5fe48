import type { Registry } from 'prom-client';
import type { IncidentMetrics } from '../../records/prometheus/incidents.ts';
import type { RunMetrics } from '../../records/prometheus/runs.ts';
import { cutText } from '../../security/redaction/cut-text.ts';
import { addGauge, type Sample } from './gauges.ts';

const MAX_LABEL_LENGTH = 100;

/** Adds the gauges of runs, without values if `metrics` is null. */
export function addRunGauges(registry: Registry, metrics: RunMetrics | null): void {
  const last = metrics?.last ?? null;
  const gauges: [name: string, help: string, value: number | null | undefined][] = [
    [
      'last_run_timestamp_seconds',
      'Start of the last run that has ended, without runs stopped on purpose.',
      last?.started_at,
    ],
    [
      'last_run_duration_seconds',
      'Duration of the last run that has ended.',
      last?.duration_seconds,
    ],
    [
      'last_good_run_timestamp_seconds',
      'Start of the last run without failures.',
      metrics?.good_at,
    ],
    [
      'last_run_unread_sources',
      'Sources that the last run was given and that were never read. They are no repositories.',
      last?.unread,
    ],
    ['run_active', '1 while a run is under way.', metrics && Number(metrics.is_running)],
    [
      'next_run_expected_timestamp_seconds',
      'When the next run is due, according to the schedules or the last runs.',
      metrics?.expected_at,
    ],
    [
      'run_interval_seconds',
      'Time between runs, according to the schedules or the last runs.',
      metrics?.interval_seconds,
    ],
  ];
  for (const [name, help, value] of gauges) {
    addGauge(registry, `backup_${name}`, help, [[value ?? null]]);
  }
  addGauge(
    registry,
    'backup_last_run_outcome',
    '1 for the outcome of the last run, 0 for the other outcome.',
    (['completed', 'failed'] as const).map((outcome) => [
      last && Number((last.status === 'completed') === (outcome === 'completed')),
      { outcome },
    ]),
  );
  addGauge(
    registry,
    'backup_last_run_repositories',
    'Repositories of the last run by result.',
    (['successful', 'failed', 'skipped'] as const).map((result) => [
      last?.[result] ?? null,
      { result },
    ]),
  );
}

/** Adds the gauges of open incidents, without values if they are unknown. */
export function addIncidentGauges(
  registry: Registry,
  metrics: readonly IncidentMetrics[] | null,
  rules: readonly string[],
): void {
  const none = { acknowledged: 0, unacknowledged: 0, repositories: 0 };
  const all = metrics && [
    ...rules
      .filter((rule) => metrics.every((found) => found.rule !== rule))
      .map((rule) => ({ rule, ...none })),
    ...metrics.map((found) => ({ ...found, rule: cutText(found.rule, MAX_LABEL_LENGTH) })),
  ];
  addGauge(
    registry,
    'backup_incidents',
    'Open incidents by rule.',
    (all ?? []).flatMap(({ rule, acknowledged, unacknowledged }): Sample[] => [
      [acknowledged, { rule, acknowledged: 'true' }],
      [unacknowledged, { rule, acknowledged: 'false' }],
    ]),
  );
  addGauge(
    registry,
    'backup_incident_repositories',
    'Repositories in open incidents by rule.',
    (all ?? []).map(({ rule, repositories }) => [repositories, { rule }]),
  );
}
