import { createHash } from 'node:crypto';
import { STATUS_DAYS, type StatusFacts } from '../../records/status-pages/status-facts.ts';
import { escapeHtml } from '../../text/escape-html.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { counted } from '../../text/units.ts';

// Plain HTML with one style sheet: it works without scripts, and loads nothing.

const DAY_MS = 86_400_000;

const styles = `:root{color-scheme:light dark;--good:#2e7d0f;--bad:#c53030;--none:#8a8f98}
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1.5rem 1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:0;overflow-wrap:anywhere}
ul{list-style:none;margin:0;padding:0}li{border:1px solid #8a8f9866;border-radius:8px;padding:.8rem 1rem;margin:0 0 .8rem}
p{margin:.2rem 0}.state{font-weight:600}
.state::before{content:"";display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.45em;background:var(--none)}
.good::before{background:var(--good)}.bad::before{background:var(--bad)}
svg{display:block;width:100%;height:28px;margin:.5rem 0 .2rem}
.d0{fill:#8a8f9855}.d1{fill:var(--good)}.d2{fill:var(--bad)}small{opacity:.85}
@media (prefers-color-scheme:dark){:root{--good:#5fb336;--bad:#f07178}}`;

/** Allows the style sheet, and nothing else. */
export const statusPageHeaders = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(styles).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'X-Robots-Tag': 'noindex, nofollow',
} as const;

/** A row of a status page with what it shows. */
export interface ShownRow {
  label: string;
  facts: StatusFacts;
}

const words = {
  good: 'Good',
  stale: 'Out of date',
  failing: 'Failing',
  lost: 'Lost at its source',
  never: 'Never backed up',
  gone: 'Archive gone',
} as const;

/** Draws a status page: the state, the last backup, the last proof and the days of each row, and nothing else. */
export function renderStatusPage(title: string, rows: readonly ShownRow[], now: number): string {
  const isGood = rows.every(({ facts }) => facts.state === 'good');
  const shown = escapeHtml(title);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${shown}</title>
<style>${styles}</style>
</head>
<body>
<main>
<h1>${shown}</h1>
<p class="state ${isGood ? 'good' : 'bad'}">${isGood ? 'All backups are good.' : 'Not all backups are good.'}</p>
<p><small>As of ${formatMinute(new Date(now).toISOString())}</small></p>
<ul>
${rows.map((row) => renderRow(row, now)).join('\n')}
</ul>
<p><small>The strips show the last ${STATUS_DAYS} days: green where runs found the backup good, red where a backup failed, and grey where nothing was recorded.</small></p>
</main>
</body>
</html>
`;
}

function renderRow({ label, facts }: ShownRow, now: number): string {
  const { total, good, state, last_good_at, proven_at } = facts;
  const word = state === null ? 'Nothing matches' : words[state];
  const count = total > 1 ? `, ${good} of ${total} good` : '';
  return `<li>
<h2>${escapeHtml(label)}</h2>
<p class="state ${state === null ? '' : state === 'good' ? 'good' : 'bad'}">${word}${count}</p>
${renderDays(facts, now)}
<p><small>${total > 1 ? 'Oldest last backup' : 'Last backup'}: ${timeOf(last_good_at)}. ${total > 1 ? 'Oldest proof' : 'Last proof'}: ${timeOf(proven_at)}.</small></p>
</li>`;
}

function timeOf(at: string | null): string {
  return at === null ? 'never' : `<time datetime="${at}">${formatMinute(at)}</time>`;
}

function renderDays({ days }: StatusFacts, now: number): string {
  const known = new Map(days.map(({ day, is_bad }) => [day, is_bad]));
  const bars = Array.from({ length: STATUS_DAYS }, (_, index) => {
    const day = new Date(now - (STATUS_DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    const isBad = known.get(day);
    const kind = isBad === undefined ? 0 : isBad ? 2 : 1;
    return `<rect class="d${kind}" x="${index * 4}" width="3" height="28"/>`;
  });
  const bad = days.filter(({ is_bad }) => is_bad).length;
  const summary = `${counted(days.length - bad, 'good day')} and ${counted(bad, 'day')} with failures in ${STATUS_DAYS} days`;
  return `<svg viewBox="0 0 ${STATUS_DAYS * 4 - 1} 28" preserveAspectRatio="none" role="img" aria-label="${summary}">${bars.join('')}</svg>`;
}
