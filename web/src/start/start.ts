// Runs before the much larger code of the page has loaded. The first import runs first.
import './ask-early.ts';
import { showFirstSentence } from './first-sentence.ts';

const overview = window.earlyAnswers?.get('/api/overview');
overview
  ?.then(async (answer) => {
    if (answer.ok) showFirstSentence(await answer.clone().json());
  })
  // The page reports the failure.
  .catch(() => undefined);
