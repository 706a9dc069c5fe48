import type { MiddlewareHandler } from 'hono';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../database/database.ts';
import { hasOwnProcess } from '../processes/own-process.ts';
import type { HttpEnv } from './env.ts';

/** The metrics of one process, in their own registry. */
export interface Metrics {
  /** Counts requests, their durations and those in flight, by route pattern. */
  observeRequests: MiddlewareHandler<HttpEnv>;
  /** Counts a request that was rejected because of overload. */
  countShed(): void;
  /** Adds gauges of the database's connection pool. */
  observeDatabase(database: Database): void;
  /** The metrics as Prometheus text, followed by those of another registry. */
  render(more?: Registry): Promise<string>;
  contentType: string;
  /** The same metrics for `format=json`. */
  json(more?: Registry): Promise<MetricFamily[]>;
}

/** One metric with its values, as in `format=json`. */
export interface MetricFamily {
  name: string;
  help: string;
  type: string;
  /** `name` is set if it differs from the family's, as for the parts of a histogram. */
  values: { name?: string; labels: Partial<Record<string, string | number>>; value: number }[];
}

/** prom-client's types lack `metricName`. */
type NamedValue = MetricFamily['values'][number] & { metricName?: string };

/** The route label of a 404. Raw paths would each create a time series. */
const UNMATCHED_ROUTE = 'unmatched';

const PROCESS_DELAY_MS = 1_000;

/**
 * Gauges with the ending of counters, which are the sums over the label `type` of the metrics without it, such as
 * nodejs_active_handles.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Creates the metrics of one process. Memory, CPU time and event loop lag are included if the runtime has its own
 * process, which a workerd isolate has not. Their collection starts after a second, or when metrics are first read.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let isMeasuring = !hasOwnProcess();
  const measureProcess = () => {
    if (!isMeasuring) {
      collectDefaultMetrics({ register: registry });
      for (const name of MISNAMED) registry.removeSingleMetric(name);
    }
    isMeasuring = true;
  };
  // Loading the collectors would delay the first request of a cold start.
  if (!isMeasuring) setTimeout(measureProcess, PROCESS_DELAY_MS).unref();
  const labelNames = ['method', 'route', 'status'] as const;
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Completed requests.',
    labelNames,
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the start of its response.',
    labelNames,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const inFlight = new Gauge({
    name: 'http_requests_in_flight',
    help: 'Requests whose handler is running.',
    registers,
  });

  const shed = new Counter({
    name: 'http_requests_shed_total',
    help: 'Requests rejected because of overload.',
    registers,
  });

  return {
    countShed: () => shed.inc(),
    async observeRequests(c, next) {
      c.set('routePattern', UNMATCHED_ROUTE);
      const startedAt = performance.now();
      inFlight.inc();
      try {
        await next();
      } finally {
        inFlight.dec();
        const labels = {
          method: methods.has(c.req.method) ? c.req.method : 'OTHER',
          route: c.get('routePattern'),
          status: String(c.res.status),
        };
        requests.inc(labels);
        durations.observe(labels, (performance.now() - startedAt) / 1000);
      }
    },
    observeDatabase(database) {
      const gauges = [
        ['connections', 'total', 'Connections of the database pool.'],
        ['idle', 'idle', 'Idle connections of the database pool.'],
        ['waiting', 'waiting', 'Queries waiting for a connection of the database pool.'],
      ] as const;
      for (const [name, state, help] of gauges) {
        new Gauge({
          name: `database_pool_${name}`,
          help,
          registers,
          collect() {
            this.set(database.poolStats()[state]);
          },
        });
      }
    },
    async render(more) {
      measureProcess();
      const own = await registry.metrics();
      return more === undefined ? own : `${own}\n${await more.metrics()}`;
    },
    contentType: registry.contentType,
    async json(more) {
      measureProcess();
      return (await Promise.all([registry, ...(more ? [more] : [])].map(familiesOf))).flat();
    },
  };
}

async function familiesOf(registry: Registry): Promise<MetricFamily[]> {
  const families = await registry.getMetricsAsJSON();
  return families.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type),
    values: values.map(({ labels, value, metricName }: NamedValue) => ({
      ...(metricName === undefined ? {} : { name: metricName }),
      labels,
      value,
    })),
  }));
}
