import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { pagePath } from './api/base-path.ts';
import { ApiError } from './api/client.ts';
import {
  type IncidentState,
  me,
  overview,
  type RepositoriesQuery,
  type RunsQuery,
} from './api/queries.ts';
import { type SourceType, sourceTypes } from './api/search.ts';
import { Shell } from './layout/shell.tsx';
import type { LogSearch } from './pages/log-filter.ts';
import { OverviewPage } from './pages/overview.tsx';
import { Empty } from './parts/empty.tsx';
import { Failure } from './parts/loading.tsx';
import { Page } from './parts/page.tsx';

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  errorComponent: ({ error }) => (
    <Failure error={error instanceof Error ? error : new Error(String(error))} />
  ),
  notFoundComponent: () => (
    <Shell>
      <Page title="Page not found">
        <Empty title="There is no page at this address">
          <Link to="/">Go to the overview</Link>
        </Empty>
      </Page>
    </Shell>
  ),
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
    // Requests the data of the overview while the login is still being checked.
    if (location.pathname === '/') void context.queries.prefetchQuery(overview);
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

/** The length to which a text filter from the address is cut. */
const MAX_TEXT = 255;

/** A text filter from the address, unless it is empty. The router parses digits as a number. */
function textSearch<Key extends string>(key: Key, value: unknown): { [K in Key]?: string } {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return (text === '' ? {} : { [key]: text.slice(0, MAX_TEXT) }) as { [K in Key]?: string };
}

/** A filter from the address if it is one of the choices. */
function chosen<Key extends string, Choice extends string>(
  key: Key,
  choices: readonly Choice[],
  value: unknown,
): { [K in Key]?: Choice } {
  const choice = choices.find((one) => one === value);
  return (choice === undefined ? {} : { [key]: choice }) as { [K in Key]?: Choice };
}

const reverseSearch = ({ reverse }: Record<string, unknown>): { reverse?: true } =>
  reverse === true ? { reverse } : {};

const runOrders = ['newest', 'longest', 'failures'] as const;

const runsSearch = (search: Record<string, unknown>): RunsSearch => ({
  ...pageSearch(search),
  ...(search.failures === true ? { failures: true } : {}),
  ...chosen('order', runOrders, search.order),
  ...reverseSearch(search),
});

interface RunsSearch extends Pick<RunsQuery, 'order' | 'reverse'> {
  page?: number;
  failures?: true;
}

const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  component: OverviewPage,
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
const states = ['good', 'stale', 'failing', 'lost', 'never', 'gone'] as const;
const orders = ['size', 'name', 'newest', 'worst', 'last_good', 'proof'] as const;
const proofs = ['proven', 'overdue', 'never', 'failing'] as const;
const copies = ['current', 'behind', 'missing', 'failing'] as const;

const repositoriesSearch = (search: Record<string, unknown>): RepositoriesQuery => ({
  ...pageSearch(search),
  ...textSearch('text', search.text),
  ...chosen('state', states, search.state),
  ...(search.forgotten === true ? { forgotten: true } : {}),
  ...chosen('proof', proofs, search.proof),
  ...chosen('off_site', copies, search.off_site),
  ...chosen('order', orders, search.order),
  ...reverseSearch(search),
});

const repositoriesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/repositories',
  validateSearch: repositoriesSearch,
  component: lazyRouteComponent(() => import('./pages/repositories.tsx'), 'RepositoriesPage'),
});
const repositoryRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/repositories/$owner/$name',
  validateSearch: ({
    tab,
    version,
  }: Record<string, unknown>): { tab?: string; version?: number } => ({
    ...(typeof tab === 'string' ? { tab } : {}),
    ...(Number.isSafeInteger(version) && Number(version) > 0 ? { version: Number(version) } : {}),
  }),
  component: lazyRouteComponent(
    () => import('./pages/repository/repository.tsx'),
    'RepositoryPage',
  ),
});
const incidentsSearch = (
  search: Record<string, unknown>,
): { page?: number; state?: IncidentState } => ({
  ...pageSearch(search),
  ...chosen('state', ['open', 'resolved'] as const, search.state),
});

const incidentsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/incidents',
  validateSearch: incidentsSearch,
  component: lazyRouteComponent(() => import('./pages/incidents.tsx'), 'IncidentsPage'),
});
const anomaliesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/anomalies',
  validateSearch: (search: Record<string, unknown>): { page?: number; all?: true } => ({
    ...pageSearch(search),
    ...(search.all === true ? { all: true } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/all-anomalies.tsx'), 'AnomaliesPage'),
});
const levels = ['debug', 'info', 'warn', 'error'] as const;

const logsSearch = (search: Record<string, unknown>): LogSearch => ({
  ...chosen('level', levels, search.level),
  ...textSearch('text', search.text),
  ...textSearch('repository', search.repository),
  ...(Number.isSafeInteger(search.run) && Number(search.run) > 0
    ? { run: Number(search.run) }
    : {}),
  ...(Number.isSafeInteger(search.line) && Number(search.line) > 0
    ? { line: Number(search.line) }
    : {}),
});

const logsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/logs',
  validateSearch: logsSearch,
  component: lazyRouteComponent(() => import('./pages/logs.tsx'), 'LogsPage'),
});

const searchRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/search',
  validateSearch: ({ q, type }: Record<string, unknown>): { q?: string; type?: SourceType } => {
    const known = sourceTypes.find((it) => it === type);
    const isText = typeof q === 'string' || typeof q === 'number';
    return {
      ...(isText && String(q).trim() !== '' ? { q: String(q).trim().slice(0, 1_000) } : {}),
      ...(known === undefined ? {} : { type: known }),
    };
  },
  component: lazyRouteComponent(() => import('./pages/search/search.tsx'), 'SearchPage'),
});

// One page for both routes, so that an answer keeps streaming while its new conversation gets an address.
const chatRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/chat',
  component: lazyRouteComponent(() => import('./pages/chat/chat.tsx'), 'ChatPage'),
});
const newConversationRoute = createRoute({ getParentRoute: () => chatRoute, path: '/' });
const conversationRoute = createRoute({ getParentRoute: () => chatRoute, path: '/$session' });

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
/** Opens in its own window, without the navigation. */
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
    repositoryRoute,
    incidentsRoute,
    anomaliesRoute,
    logsRoute,
    searchRoute,
    chatRoute.addChildren([newConversationRoute, conversationRoute]),
    reportsRoute,
    reportRoute,
    settingsRoute,
  ]),
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: routes,
    basepath: pagePath,
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
