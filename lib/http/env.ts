import type { ServerResponse } from 'node:http';
import type { Context } from 'hono';

/** Responds on the connection itself, with the headers that middleware has set. */
export type TakeOver = (headers: Headers) => void;

/** The context that the middleware of every surface provides to handlers. */
export interface HttpEnv {
  Bindings: {
    /** The request of the Node.js server, if the app runs on one. */
    incoming?: { socket: { remoteAddress?: string | undefined } };
    /** The response of the Node.js server, for a handler that takes the connection over. */
    outgoing?: ServerResponse;
    /** The path below which a proxy publishes the server, such as `/backup`; empty or missing: none. */
    basePath?: string;
  };
  Variables: {
    requestId: string;
    /** The address used for rate limits and logs. */
    clientAddress: string;
    /** The address that a caller with the internal secret forwards; null without one. */
    forwardedAddress: string | null;
    hasInternalSecret: boolean;
    /** Whether a page of another origin made the request. */
    isCrossSite: boolean;
    /** Whether a page of this server made the request. */
    isSameOrigin: boolean;
    /** Pattern of the route that serves the request, such as `/api/backups/:id`. */
    routePattern: string;
    /** Set by a handler that takes the connection over. */
    takeOver?: TakeOver;
    /** The user of the request's token. Set for routes with access `user`. */
    user: string;
    /** The browser session of the token; null for a token without one. */
    browserSession: { id: string; expiresAt: number } | null;
    /** Whether the user was identified by the session cookie. */
    hasSessionCookie: boolean;
    /** The error of a token lookup that failed. */
    userError: unknown;
  };
}

/** The path below which clients reach this server, such as `/backup`; usually empty. Put it before every own path. */
export function basePathOf(c: Context): string {
  return (c as Context<HttpEnv>).env?.basePath ?? '';
}
