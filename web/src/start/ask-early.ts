// A dark page must not flash white.
const chosen = localStorage.getItem('mantine-color-scheme-value');
const isDark =
  chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light');

// What the page will ask first. `api/early.ts` takes the answers.
const first: Record<string, string[]> = { '/app/': ['/auth/me', '/api/overview'] };
window.earlyAnswers = new Map(
  (first[location.pathname] ?? []).map((path) => {
    const answer = fetch(path);
    // Who takes it hears of a failure.
    answer.catch(() => undefined);
    return [path, answer];
  }),
);
