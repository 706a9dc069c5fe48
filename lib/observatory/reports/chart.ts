import { formatDuration } from '../../text/units.ts';

/** One bar of a chart. Contains only our own figures: no foreign text appears in a drawing. */
export interface ChartPoint {
  /** A date or the number of a run. */
  label: string;
  /** 0 to 100; null when no repository was processed. */
  successRate: number | null;
  /** Milliseconds. */
  duration: number;
}

const WIDTH = 720;
const HEIGHT = 240;
const plot = { left: 44, right: 60, top: 28, bottom: 40 };
const INNER_WIDTH = WIDTH - plot.left - plot.right;
const INNER_HEIGHT = HEIGHT - plot.top - plot.bottom;
const colors = {
  good: '#1a7f37',
  bad: '#cf222e',
  line: '#0969da',
  ink: '#57606a',
  grid: '#d0d7de',
};
const MAX_LABELS = 10;

/**
 * Draws success (bars, left axis) and duration (line, right axis) as SVG, oldest point first; null without
 * points. Labels keep only the characters of dates and numbers.
 */
export function drawChart(points: readonly ChartPoint[]): string | null {
  if (points.length === 0) return null;
  const step = INNER_WIDTH / points.length;
  const longest = Math.max(1, ...points.map(({ duration }) => duration));
  const xOf = (index: number) => plot.left + step * (index + 0.5);
  const yOf = (share: number) => plot.top + INNER_HEIGHT * (1 - share);
  const bars = points.map(({ successRate }, index) => {
    if (successRate === null) return '';
    const share = Math.min(100, Math.max(0, successRate)) / 100;
    // A rate of 0 is visible too.
    const height = Math.max(2, INNER_HEIGHT * share);
    const x = round(xOf(index) - step * 0.35);
    const y = round(plot.top + INNER_HEIGHT - height);
    const fill = share === 1 ? colors.good : colors.bad;
    return `<rect x="${x}" y="${y}" width="${round(step * 0.7)}" height="${round(height)}" fill="${fill}" fill-opacity="0.7"/>`;
  });
  const line = points
    .map(({ duration }, index) => `${round(xOf(index))},${round(yOf(duration / longest))}`)
    .join(' ');
  const every = Math.ceil(points.length / MAX_LABELS);
  const labels = points.map(({ label }, index) =>
    index % every === 0 ? text(xOf(index), HEIGHT - plot.bottom + 16, 'middle', label) : '',
  );
  const grid = [0, 0.5, 1].map((share) => {
    const y = round(yOf(share));
    return (
      `<line x1="${plot.left}" x2="${WIDTH - plot.right}" y1="${y}" y2="${y}" stroke="${colors.grid}"/>` +
      text(plot.left - 6, y + 4, 'end', `${share * 100}%`) +
      text(WIDTH - plot.right + 6, y + 4, 'start', formatDuration(longest * share))
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Success and duration" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">`,
    text(plot.left, 16, 'start', 'Bars: repositories without failure (%)  Line: duration'),
    ...grid,
    ...bars,
    `<polyline points="${line}" fill="none" stroke="${colors.line}" stroke-width="2"/>`,
    ...labels,
    '</svg>',
  ].join('');
}

function text(x: number, y: number, anchor: string, content: string): string {
  const safe = content.replace(/[^\w .:%()#-]/g, '');
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" font-family="sans-serif" font-size="11" fill="${colors.ink}">${safe}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
