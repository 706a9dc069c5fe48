// Runs before the page's code has come, which is much larger: what is imported first is done first.
import './ask-early.ts';
import { showFirstSentence } from './first-sentence.ts';

const overview = window.earlyAnswers?.get('/api/overview');
overview
  ?.then(async (answer) => {
    if (answer.ok) showFirstSentence(await answer.clone().json());
  })
  // The page tells of a failure.
  .catch(() => undefined);
