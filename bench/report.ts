/** The duration of many calls, in milliseconds. */
export interface Timing {
  median: number;
  p95: number;
}

/** Times `runs` sequential calls, after `warmUp` calls that do not count. */
export async function time(
  work: () => Promise<unknown>,
  { runs, warmUp }: { runs: number; warmUp: number },
): Promise<Timing> {
  for (let n = 0; n < warmUp; n++) await work();
  const times: number[] = [];
  for (let n = 0; n < runs; n++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return { median: quantile(times, 0.5), p95: quantile(times, 0.95) };
}

/** The quantile of the values for a share between 0 and 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Prints rows as a Markdown table, so that figures can be quoted directly. */
export function printTable(title: string, header: string[], rows: string[][]): void {
  const widths = header.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  process.stdout.write(
    `\n## ${title}\n\n${[header, rule, ...rows].map((cells) => line(cells)).join('\n')}\n`,
  );
}

export const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} ms`;
export const ratio = (value: number): string => `${value.toFixed(2)}×`;
