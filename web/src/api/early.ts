import { noteServerTime } from './clock.ts';

declare global {
  interface Window {
    /** The responses that `start/ask-early.ts` requested, by path. */
    earlyAnswers?: Map<string, Promise<Response>>;
  }
}

/** Sends a request, unless the page sent the same one while its code was loading. Each early response is used once. */
export function fetchOrTakeEarly(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const path = `${pathname}${search}`;
  const early = request.method === 'GET' ? window.earlyAnswers?.get(path) : undefined;
  if (early === undefined) return fetchNow(request);
  window.earlyAnswers?.delete(path);
  return early;
}

async function fetchNow(request: Request): Promise<Response> {
  const response = await fetch(request);
  noteServerTime(response);
  return response;
}
