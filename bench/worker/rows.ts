import { quantile } from '../report.ts';

/** The column titles of the worker's tables. */
export const header = ['case', 'ours', 'plain git', 'figure', 'goal', ''];

/** A row that compares a figure, the median of the rounds, with its goal. */
export function row(
  what: string,
  [ours, plain]: [string, string],
  figures: readonly number[],
  goal: number,
  format: (value: number) => string,
): string[] {
  const figure = quantile(figures, 0.5);
  const isReached = figure <= goal;
  return [
    what,
    ours,
    plain,
    format(figure),
    `at most ${format(goal)}`,
    isReached ? 'reached' : 'MISSED',
  ];
}

/** The median of durations in milliseconds, formatted in seconds. */
export function medianSeconds(values: readonly number[]): string {
  return seconds(quantile(values, 0.5) / 1_000);
}

export const seconds = (value: number): string => `${value.toFixed(2)} s`;
