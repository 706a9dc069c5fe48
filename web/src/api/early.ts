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
  if (early === undefined) return fetch(request);
  window.earlyAnswers?.delete(path);
  return early;
}
