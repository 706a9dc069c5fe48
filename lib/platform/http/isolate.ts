import { AsyncLocalStorage } from 'node:async_hooks';
import { findSurface, type Surface } from '../surfaces.ts';

/** What answers requests: an app, or a deployed function. */
export interface FetchHandler {
  fetch(request: Request): Response | Promise<Response>;
}

/** What the runtime hands over beside a request. */
export interface IsolateContext {
  /** Lets the isolate work on for this request although its answer is out or its client gone. */
  waitUntil(work: Promise<unknown>): void;
}

/** The form of a module worker. */
export interface IsolateHandler {
  fetch(request: Request, environment: unknown, context: IsolateContext): Promise<Response>;
}

export interface IsolateOptions {
  /** Makes each surface. Called within a request, since an isolate may do nothing before its first. */
  surfaces: Record<Surface['name'], () => Promise<FetchHandler>>;
  /** The header in which the platform itself tells the client's address; a client cannot set it. */
  addressHeader: string;
}

/**
 * All surfaces as one module worker, for a runtime of isolates such as workerd. What a request of an
 * isolate has begun stops with it, while others may wait for it: each is worked on to its end, also when
 * its client leaves.
 */
export function createIsolateHandler({ surfaces, addressHeader }: IsolateOptions): IsolateHandler {
  const contexts = new AsyncLocalStorage<IsolateContext>();
  // Where the functions look for the platform's own.
  Reflect.set(globalThis, Symbol.for('@vercel/request-context'), {
    get: () => contexts.getStore(),
  });
  const made = new Map<Surface['name'], FetchHandler>();

  async function answer(request: Request): Promise<Response> {
    const { name } = findSurface(new URL(request.url).pathname);
    // Not the promise is kept: requests that wait for one another's would wait for one that was canceled.
    const surface = made.get(name) ?? (await surfaces[name]());
    made.set(name, surface);
    return surface.fetch(tellAddress(request, addressHeader));
  }

  return {
    fetch(request, _environment, context) {
      const answering = contexts.run(context, () => answer(request));
      context.waitUntil(answering.catch(() => undefined)); // whoever asked hears of it
      return answering;
    },
  };
}

/** Names the client where the functions look for the platform's word, whatever the client wrote there. */
function tellAddress(request: Request, addressHeader: string): Request {
  const headers = new Headers(request.headers);
  const address = headers.get(addressHeader);
  if (address === null) headers.delete('X-Real-IP');
  else headers.set('X-Real-IP', address);
  return new Request(request, { headers });
}
