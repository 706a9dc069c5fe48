import { styleText } from 'node:util';
import { isIncident } from './incidents.ts';
import type { Check, DoctorReport, Feature } from './report.ts';

type Style = Parameters<typeof styleText>[0];

const marks: Record<Check['status'], { mark: string; style: Style }> = {
  ok: { mark: '✔', style: 'green' },
  off: { mark: '○', style: 'dim' },
  warning: { mark: '▲', style: 'yellow' },
  failed: { mark: '✖', style: 'red' },
};

/** Formats a report for people: each check, how to fix it, and which features work. */
export function printReport(
  report: DoctorReport,
  { about, hasColor }: { about: string; hasColor: boolean },
): string {
  const paint = (style: Style, text: string) =>
    hasColor ? styleText(style, text, { validateStream: false }) : text;
  const width = Math.max(...report.checks.map(({ name }) => name.length));
  return [
    '',
    paint('bold', `Backup Observatory ${report.version}, ${about}`),
    '',
    ...report.checks.flatMap((check) => describeCheck(check, width, paint)),
    '',
    ...describeFeatures(report.features, paint),
    '',
    describeOutcome(report, paint),
    '',
    '',
  ].join('\n');
}

type Paint = (style: Style, text: string) => string;

function describeCheck(
  { name, status, detail, next, latency_ms }: Check,
  width: number,
  paint: Paint,
): string[] {
  const { mark, style } = marks[status];
  const latency = latency_ms === null ? '' : paint('dim', `  ${latency_ms} ms`);
  const line = `  ${paint(style, mark)} ${name.padEnd(width)}  ${detail}${latency}`;
  return next === null ? [line] : [line, `    ${' '.repeat(width)}  ${paint('cyan', `→ ${next}`)}`];
}

const outcomes: Record<Feature['status'], { title: string; style: Style }> = {
  works: { title: 'Works', style: 'green' },
  limited: { title: 'Works in part', style: 'yellow' },
  off: { title: 'Does not work', style: 'red' },
};

function describeFeatures(features: readonly Feature[], paint: Paint): string[] {
  const byStatus = Map.groupBy(features, ({ status }) => status);
  return Object.entries(outcomes).flatMap(([status, { title, style }]) => {
    const found = byStatus.get(status as Feature['status']) ?? [];
    if (found.length === 0) return [];
    const bySurface = Map.groupBy(found, ({ surface }) => surface);
    return [
      `  ${paint(style, title)}`,
      ...[...bySurface].map(([surface, all]) => {
        const names = all.map(({ feature, because }) =>
          because === null ? feature : `${feature} ${paint('dim', `(see ${because})`)}`,
        );
        return `    ${surface}: ${names.join(', ')}`;
      }),
    ];
  });
}

function describeOutcome({ ok, checks }: DoctorReport, paint: Paint): string {
  if (ok) return `  ${paint('green', 'Everything required works.')}`;
  const names = checks
    .filter((check) => check.status === 'failed' && !isIncident(check))
    .map(({ name, detail }) => (name === 'incidents' ? `${name} (${detail})` : name));
  return `  ${paint('red', `To fix: ${names.join(', ')}.`)}`;
}
