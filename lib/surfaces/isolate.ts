import { AsyncLocalStorage } from 'node:async_hooks';
import { findSurface, type Surface } from './surface-paths.ts';

/** An app or a deployed function. */
export interface FetchHandler {
  fetch(request: Request): Response | Promise<Response>;
}

/** The runtime's context for a request. */
export interface IsolateContext {
  /** Keeps the isolate working on this request after the response is sent or the client has disconnected. */
  waitUntil(work: Promise<unknown>): void;
}

/** A module worker. */
export interface IsolateHandler {
  fetch(request: Request, environment: unknown, context: IsolateContext): Promise<Response>;
}

export interface IsolateOptions {
  /** Creates each surface. Called within a request, because isolates cannot do I/O outside of one. */
  surfaces: Record<Surface['name'], () => Promise<FetchHandler>>;
  /** The header in which the platform passes the client's address; clients cannot set it. */
  addressHeader: string;
}

/**
 * Combines all surfaces into one module worker, for runtimes such as workerd. A canceled request would take
 * down work that other requests wait for, so each request runs to its end even if its client disconnects.
 */
export function createIsolateHandler({ surfaces, addressHeader }: IsolateOptions): IsolateHandler {
  const contexts = new AsyncLocalStorage<IsolateContext>();
  // The functions read the platform's context from here.
  Reflect.set(globalThis, Symbol.for('@vercel/request-context'), {
    get: () => contexts.getStore(),
  });
  const created = new Map<Surface['name'], FetchHandler>();

  async function respond(request: Request): Promise<Response> {
    const { name } = findSurface(new URL(request.url).pathname);
    // Caches the surface and not its promise, which would never settle if its request were canceled.
    const surface = created.get(name) ?? (await surfaces[name]());
    created.set(name, surface);
    return surface.fetch(withClientAddress(request, addressHeader));
  }

  return {
    fetch(request, _environment, context) {
      const response = contexts.run(context, () => respond(request));
      context.waitUntil(response.catch(() => undefined)); // the caller handles the error
      return response;
    },
  };
}

/** Sets X-Real-IP to the client's address, overriding any value from the client. */
function withClientAddress(request: Request, addressHeader: string): Request {
  const headers = new Headers(request.headers);
  const address = headers.get(addressHeader);
  if (address === null) headers.delete('X-Real-IP');
  else headers.set('X-Real-IP', address);
  return new Request(request, { headers });
}
