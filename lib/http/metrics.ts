import type { MiddlewareHandler } from 'hono';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../database/database.ts';
import { hasOwnProcess } from '../processes/own-process.ts';
import type { HttpEnv } from './env.ts';

/** The figures of one process, in a registry of their own. */
export interface Metrics {
  /** Counts each request, its duration and those under way, keyed by route pattern. */
  observeRequests: MiddlewareHandler<HttpEnv>;
  /** Counts a request that was refused for the load, beside the others. */
  countShed(): void;
  /** Adds gauges of the database's connection pool. */
  observeDatabase(database: Database): void;
  /** Prometheus text, and its content type. */
  render(): Promise<string>;
  contentType: string;
  /** The same figures for `format=json`. */
  json(): Promise<MetricFamily[]>;
}

/** One metric with its values, as `format=json` shows it. */
export interface MetricFamily {
  name: string;
  help: string;
  type: string;
  /** `name` is there where it differs from the family's, as for the parts of a histogram. */
  values: { name?: string; labels: Partial<Record<string, string | number>>; value: number }[];
}

/** A value as the library gives it; the name is missing in its types. */
type NamedValue = MetricFamily['values'][number] & { metricName?: string };

/** Route of a request that no route serves: the raw path would be a series for each guess. */
const UNMATCHED_ROUTE = 'unmatched';

const PROCESS_DELAY_MS = 1_000;

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Makes the metrics of one process. Its memory, processor time and event loop are among
 * them where the runtime can tell: an isolate, as workerd has them, is no process of its own. They are
 * measured from a second after the start, or from when they are first asked for.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let isMeasuring = !hasOwnProcess();
  const measureProcess = () => {
    if (!isMeasuring) collectDefaultMetrics({ register: registry });
    isMeasuring = true;
  };
  // The first request of a cold start is not kept waiting by what this loads.
  if (!isMeasuring) setTimeout(measureProcess, PROCESS_DELAY_MS).unref();
  const labelNames = ['method', 'route', 'status'] as const;
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests that were answered.',
    labelNames,
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the start of its answer.',
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
    help: 'Requests that were refused because too many were under way.',
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
      const states = {
        total: 'Connections of the database pool.',
        idle: 'Connections of the database pool that wait for work.',
        waiting: 'Queries that wait for a connection of the database pool.',
      } as const;
      for (const state of ['total', 'idle', 'waiting'] as const) {
        new Gauge({
          name: `database_pool_${state}`,
          help: states[state],
          registers,
          collect() {
            this.set(database.poolStats()[state]);
          },
        });
      }
    },
    render() {
      measureProcess();
      return registry.metrics();
    },
    contentType: registry.contentType,
    async json() {
      measureProcess();
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
    },
  };
}
