import type { Schemas } from '../api/client.ts';
import { serverNow } from '../api/clock.ts';
import { judge } from '../pages/verdict.ts';

/**
 * Shows the state of the backups where the overview will show it. `main.tsx` removes it after the first render, so it
 * must not be shown after that.
 */
export function showFirstSentence(overview: Schemas['Overview']): void {
  const isDrawn = document.getElementById('root')?.hasChildNodes() ?? true;
  // Without backups, the overview shows how to begin instead.
  if (isDrawn || overview.repositories.total === 0) return;
  const { state, sentence } = judge(overview, serverNow());
  const cover = document.createElement('div');
  cover.id = 'first';
  // The overview that replaces it has the same text.
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
