import { Gauge, type Registry } from 'prom-client';

/** A value with its labels; null if it is unknown or never happened. */
export type Sample = readonly [value: number | null, labels?: Readonly<Record<string, string>>];

/** Adds a gauge with its values. A null value gets no series, because 0 would be a false claim. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  samples: Iterable<Sample>,
): void {
  const known = [...samples].filter(([value]) => value !== null);
  const labelNames = Object.keys(known[0]?.[1] ?? {});
  const gauge = new Gauge({ name, help, labelNames, registers: [registry] });
  // A gauge without labels starts at 0.
  if (known.length === 0) gauge.remove();
  for (const [value, labels = {}] of known) gauge.set(labels, value ?? 0);
}
