import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { ApiError } from './api/client.ts';
import { me } from './api/queries.ts';
import { Shell } from './layout/shell.tsx';
import { Empty } from './parts/empty.tsx';
import { Failure } from './parts/loading.tsx';

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  errorComponent: ({ error }) => (
    <Failure error={error instanceof Error ? error : new Error(String(error))} />
  ),
  notFoundComponent: () => <Empty title="Nothing here">There is no such page.</Empty>,
});

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: ({ from }: Record<string, unknown>): { from?: string } =>
    typeof from === 'string' ? { from } : {},
  component: lazyRouteComponent(() => import('./pages/login.tsx'), 'LoginPage'),
});

/** Everything behind the login. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: Shell,
  async beforeLoad({ context, location }) {
    try {
      await context.queries.ensureQueryData(me);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: '/login', search: { from: location.href } });
    }
  },
});

const pageSearch = ({ page }: Record<string, unknown>): { page?: number } =>
  Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {};

const runsSearch = (search: Record<string, unknown>): { page?: number; failures?: true } => ({
  ...pageSearch(search),
  ...(search.failures === true ? { failures: true } : {}),
});

const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'OverviewPage'),
});
const runsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/runs',
  validateSearch: runsSearch,
  component: lazyRouteComponent(() => import('./pages/runs.tsx'), 'RunsPage'),
});
const runRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/runs/$id',
  component: lazyRouteComponent(() => import('./pages/run.tsx'), 'RunPage'),
});
const repositoriesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/repositories',
  validateSearch: pageSearch,
  component: lazyRouteComponent(() => import('./pages/repositories.tsx'), 'RepositoriesPage'),
});
const levels = ['debug', 'info', 'warn', 'error'];
const logsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/logs',
  validateSearch: ({
    level,
    text,
  }: Record<string, unknown>): { level?: string; text?: string } => ({
    ...(levels.includes(String(level)) ? { level: String(level) } : {}),
    ...(typeof text === 'string' && text !== '' ? { text } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/logs.tsx'), 'LogsPage'),
});

const reportsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/reports',
  validateSearch: pageSearch,
  component: lazyRouteComponent(() => import('./pages/reports/reports.tsx'), 'ReportsPage'),
});
const reportRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/reports/$id',
  component: lazyRouteComponent(() => import('./pages/reports/report.tsx'), 'ReportPage'),
});

const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: string } =>
    typeof tab === 'string' ? { tab } : {},
  component: lazyRouteComponent(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
});
/** In a window of its own, without the navigation. */
const gatewayReturnRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings/gateway/$state',
  validateSearch: ({ code }: Record<string, unknown>): { code?: string } =>
    ['string', 'number'].includes(typeof code) ? { code: String(code) } : {},
  component: lazyRouteComponent(
    () => import('./pages/settings/gateway-return.tsx'),
    'GatewayReturnPage',
  ),
});

const routes = rootRoute.addChildren([
  loginRoute,
  gatewayReturnRoute,
  shellRoute.addChildren([
    overviewRoute,
    runsRoute,
    runRoute,
    repositoriesRoute,
    logsRoute,
    reportsRoute,
    reportRoute,
    settingsRoute,
  ]),
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: routes,
    basepath: '/app',
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
