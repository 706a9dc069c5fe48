import type { Route } from '../platform/http/route.ts';
import { loginRoute, meRoute } from './routes/auth.ts';
import {
  askByQueryRoute,
  askRoute,
  chatStreamRoute,
  confirmRoute,
  executeToolRoute,
} from './routes/chat.ts';
import {
  activateRoute,
  embeddingStatusRoute,
  processBatchRoute,
  pruneRoute,
  switchModelRoute,
} from './routes/embeddings.ts';
import { disconnectRoute, exchangeRoute, readConnectionRoute } from './routes/gateway.ts';
import { embeddingModelsRoute, rerankingModelsRoute } from './routes/models.ts';
import { readyRoute } from './routes/ready.ts';
import {
  createReportRoute,
  listReportsRoute,
  readReportRoute,
  sendReportRoute,
} from './routes/reports.ts';
import { searchRoute } from './routes/search.ts';
import {
  createSessionRoute,
  deleteSessionRoute,
  listMessagesRoute,
  listSessionsRoute,
  readSessionRoute,
  renameSessionRoute,
} from './routes/sessions.ts';

/**
 * Every route of this surface, without its handlers: for documents. A test compares it with the
 * endpoints.
 */
export const observatoryRoutes: readonly Route[] = [
  loginRoute,
  meRoute,
  readConnectionRoute,
  exchangeRoute,
  disconnectRoute,
  embeddingModelsRoute,
  rerankingModelsRoute,
  embeddingStatusRoute,
  switchModelRoute,
  processBatchRoute,
  activateRoute,
  pruneRoute,
  searchRoute,
  listSessionsRoute,
  createSessionRoute,
  readSessionRoute,
  renameSessionRoute,
  deleteSessionRoute,
  listMessagesRoute,
  askRoute,
  askByQueryRoute,
  chatStreamRoute,
  confirmRoute,
  executeToolRoute,
  createReportRoute,
  sendReportRoute,
  listReportsRoute,
  readReportRoute,
  readyRoute,
];
