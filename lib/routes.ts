import { liveRoutes } from './live/routes.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { observatoryRoutes } from './observatory/routes.ts';
import type { Route } from './platform/http/route.ts';

/**
 * The routes of every surface beside the service API, for its `/openapi.json`, which describes them all
 * (decisions 1). Declarations only: they bring no handler into its function.
 */
export const otherRoutes: readonly Route[] = [...liveRoutes, ...observatoryRoutes, ...mcpRoutes];
