import { basePath, pagePath } from '../api/base-path.ts';
import { readClockOffset } from '../api/clock.ts';

// A dark page must not flash white.
const chosen = localStorage.getItem('mantine-color-scheme-value');
const isDark =
  chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light');

// The first requests of each page. `api/early.ts` takes the responses.
const first: Record<string, string[]> = { [pagePath]: ['/auth/me', '/api/overview'] };
window.earlyAnswers = new Map(
  (first[location.pathname] ?? []).map((name) => {
    const path = `${basePath}${name}`;
    const answer = fetch(path);
    answer.then(
      (response) => {
        window.earlyClockOffset = readClockOffset(response) ?? 0;
      },
      () => undefined, // the error surfaces where the response is taken
    );
    return [path, answer];
  }),
);
