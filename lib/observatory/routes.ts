import type { Route } from '../platform/http/route.ts';
import { loginRoute, meRoute } from './routes/auth.ts';

/** Every route of this surface, without its handlers: for documents. */
export const observatoryRoutes: readonly Route[] = [loginRoute, meRoute];
