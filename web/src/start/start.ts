// Runs before the much larger code of the page has loaded. The first import runs first.
import './ask-early.ts';
import { basePath, pagePath } from '../api/base-path.ts';
import { showFirstSentence } from './first-sentence.ts';

// Opened at the server itself and not through the proxy: all addresses of the page are below the base path.
if (!location.pathname.startsWith(pagePath)) {
  location.replace(`${basePath}${location.pathname}${location.search}${location.hash}`);
}

const overview = window.earlyAnswers?.get(`${basePath}/api/overview`);
overview
  ?.then(async (answer) => {
    if (answer.ok) showFirstSentence(await answer.clone().json());
  })
  // The page reports the failure.
  .catch(() => undefined);
