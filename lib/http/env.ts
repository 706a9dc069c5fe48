import type { ServerResponse } from 'node:http';

/** Answers on the connection itself, with the headers that the answer would have had. */
export type TakeOver = (headers: Headers) => void;

/** What the middleware of every surface leaves for the handlers behind it. */
export interface HttpEnv {
  Bindings: {
    /** The node server's request, there when the app runs behind one. */
    incoming?: { socket: { remoteAddress?: string | undefined } };
    /** Its answer, for a handler that takes the connection over. */
    outgoing?: ServerResponse;
  };
  Variables: {
    requestId: string;
    /** The address that limits and logs count by. */
    clientAddress: string;
    /** The address that a bearer of the internal secret forwards; null when there is none. */
    forwardedAddress: string | null;
    /** True when the request carries the internal secret. */
    hasInternalSecret: boolean;
    /** Does a page of another origin stand behind the request? */
    isCrossSite: boolean;
    /** Does a page of this server stand behind the request? */
    isSameOrigin: boolean;
    /** Pattern of the route that serves the request, such as `/api/backups/:id`. */
    routePattern: string;
    /** Set by a handler that takes the connection over. */
    takeOver?: TakeOver;
    /** Name of the user whose token the request carries, there behind the check of access `user`. */
    user: string;
    /** The login in a browser that the token belongs to; null for one that was issued to a program. */
    browserSession: { id: string; expiresAt: number } | null;
    /** Why it could not be found out whose token a request carries. */
    userFault: unknown;
  };
}
