declare global {
  interface Window {
    /** Answers that `start/ask-early.ts` asked for, by path. */
    earlyAnswers?: Map<string, Promise<Response>>;
  }
}

/** Asks the server, unless the page asked the same while its code was loading. Each of these answers is used once. */
export function fetchOrTakeEarly(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const path = `${pathname}${search}`;
  const early = request.method === 'GET' ? window.earlyAnswers?.get(path) : undefined;
  if (early === undefined) return fetch(request);
  window.earlyAnswers?.delete(path);
  return early;
}
