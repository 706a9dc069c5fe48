import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createClient } from '../support/client.ts';
import { readDocument } from '../support/documents.ts';
import { useDatabase } from '../support/hooks.ts';
import { parsePromql, type Series } from '../support/promql.ts';
import { insert, insertResult, insertRun } from '../support/records.ts';

const rulesFile = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Backup[A-Za-z]+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[smhd]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});

const source = z.strictObject({
  type: z.literal('prometheus'),
  uid: z.string().regex(/^\$\{datasource\}$/),
});
const dashboardFile = z.object({
  uid: z.string(),
  title: z.string(),
  schemaVersion: z.number(),
  templating: z.object({
    list: z.tuple([
      z.object({
        type: z.literal('datasource'),
        name: z.literal('datasource'),
        query: z.literal('prometheus'),
      }),
    ]),
  }),
  panels: z.array(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('row'), id: z.int(), title: z.string() }),
      ...(['stat', 'table', 'timeseries'] as const).map((type) =>
        z.object({
          type: z.literal(type),
          id: z.int(),
          title: z.string(),
          datasource: source,
          gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
          targets: z
            .array(z.object({ datasource: source, expr: z.string(), legendFormat: z.string() }))
            .min(1),
        }),
      ),
    ]),
  ),
});

const { groups } = rulesFile.parse(parse(readDocument('docs/monitoring/alert-rules.yml')));
const rules = groups.flatMap((group) => group.rules);
const dashboard = dashboardFile.parse(
  JSON.parse(readDocument('docs/monitoring/grafana-dashboard.json')),
);
const panels = dashboard.panels.flatMap((panel) => (panel.type === 'row' ? [] : [panel]));

/** Every query, and the labels that texts use from its result. */
const questions = [
  ...rules.map(({ alert, expr, annotations }) => ({
    where: alert,
    expr,
    named: [
      ...Object.values(annotations)
        .join()
        .matchAll(/\$labels\.(\w+)/g),
    ],
  })),
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: title,
      expr: expr.replaceAll('$__rate_interval', '5m'),
      named: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)],
    })),
  ),
];

const database = useDatabase();
let scraped: Series[];

// Repositories in each state, runs, drills and an incident, so that every possible series exists.
beforeAll(async () => {
  const { db } = database;
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString();
  let run = 0;
  for (const ago of [4, 3, 2, 1]) {
    run = await insertRun(db, { status: 'completed', started_at: day(ago) });
  }
  const result = (name: string, ago: number, row = {}) =>
    insertResult(db, run, `acme/${name}`, { created_at: day(ago), archive_size_bytes: 7, ...row });
  await result('good', 0);
  await result('stale', 9);
  await result('failing', 2);
  await result('failing', 1, { status: 'failed' });
  await result('lost', 2);
  await result('lost', 1, { status: 'failed', fault: 'missing' });
  await result('never', 1, { status: 'failed' });
  await insert(db, 'incidents', { rule: 'anomaly' });
  await db.query({
    text: `INSERT INTO restore_drills (repository_name, storage, started_at, duration_ms, bytes, outcome, evidence)
      VALUES ('acme/good', 'folder', '2020-01-01', 1, 1, 'proven', '{}')`,
  });
  const client = createClient({ db });
  // The duration of a request is counted after its response.
  await client.get('/health');
  const { text } = await client.get('/metrics');
  scraped = text.split('\n').flatMap((line): Series[] => {
    const [, metric, labels] = /^([a-z_]+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (metric === undefined) return [];
    const pairs = [...(labels ?? '').matchAll(/(\w+)="([^"]*)"/g)];
    return [{ metric, labels: Object.fromEntries(pairs.map(([, name, value]) => [name, value])) }];
  });
});

describe('the dashboard and the alert rules', () => {
  it('have unique names and ids', () => {
    const ids = dashboard.panels.map(({ id }) => String(id));
    for (const names of [rules.map(({ alert }) => alert), ids]) {
      expect(new Set(names).size).toBe(names.length);
      expect(names.length).toBeGreaterThan(10);
    }
  });

  it.each(questions)('query series that a scrape has: $where: $expr', ({ expr, named }) => {
    const { selectors, grouping } = parsePromql(expr);
    expect(selectors.length).toBeGreaterThan(0);
    // Labels that Prometheus adds.
    const labels = new Set(['instance', 'job']);
    for (const { metric, matches } of selectors) {
      const found = scraped.filter(matches);
      expect(found.length, `series of ${metric}`).toBeGreaterThan(0);
      for (const name of found.flatMap((series) => Object.keys(series.labels))) labels.add(name);
    }
    for (const name of [...grouping, ...named.map(([, name]) => name)])
      expect(labels).toContain(name);
  });

  it('are documented together with every backup metric', () => {
    const document = readDocument('docs/monitoring/README.md');
    const listed = [...document.matchAll(/`(backup_[a-z_]+)…?`/g)].map(([, name = '']) => name);
    for (const { metric } of scraped.filter(({ metric }) => metric.startsWith('backup_'))) {
      expect(
        listed.some((name) => metric === name || (name.endsWith('_') && metric.startsWith(name))),
      ).toBe(true);
    }
  });

  it.each(['sum by (rule) (backup_incidents', 'backup_incidents{rule=}', 'rate(backup_x[5q])'])(
    'are checked by a parser that rejects %s',
    (expr) => {
      expect(() => parsePromql(expr)).toThrow(expr);
    },
  );
});
