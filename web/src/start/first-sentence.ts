import type { Schemas } from '../api/client.ts';
import { judge } from '../pages/verdict.ts';

/**
 * Shows how the backups are, where the overview will say it. `main.tsx` takes it away once that is drawn, so it must not
 * come later than the first that is.
 */
export function showFirstSentence(overview: Schemas['Overview']): void {
  const isDrawn = document.getElementById('root')?.hasChildNodes() ?? true;
  // The overview says more of an installation without backups.
  if (isDrawn || overview.repositories.total === 0) return;
  const { state, sentence } = judge(overview, Date.now());
  const cover = document.createElement('div');
  cover.id = 'first';
  // What replaces it says the same.
  cover.ariaHidden = 'true';
  const title = document.createElement('h1');
  title.textContent = 'Overview';
  const verdict = document.createElement('p');
  verdict.className = state;
  verdict.ariaLabel = 'State of the backups';
  const text = document.createElement('bdi');
  text.textContent = sentence;
  verdict.append(text);
  cover.append(title, verdict);
  document.body.append(cover);
}

export function removeFirstSentence(): void {
  document.getElementById('first')?.remove();
}
