import type { Route } from '../platform/http/route.ts';

/** Every route of this surface, without its handlers: for documents. */
export const liveRoutes: readonly Route[] = [];
