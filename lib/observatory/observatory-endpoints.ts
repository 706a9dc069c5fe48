import type { Endpoint } from '../http/route.ts';
import { alertChannelsEndpoints } from './alert-channels.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { chatEndpoints } from './chat/endpoints.ts';
import { runningTurnEndpoints } from './chat/running-endpoints.ts';
import { configEndpoints } from './config.ts';
import { embeddingsEndpoints } from './embeddings.ts';
import { gatewayEndpoints } from './gateway-connection.ts';
import { authEndpoints } from './login.ts';
import { modelsEndpoints } from './models.ts';
import { readyEndpoints } from './ready.ts';
import { reportsEndpoints } from './report-endpoints.ts';
import { searchEndpoints } from './search.ts';
import { sessionsEndpoints } from './sessions.ts';
import { usersEndpoints } from './users.ts';

/** Every endpoint of the observatory. Add new lists here. */
export const observatoryEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  ...authEndpoints,
  ...gatewayEndpoints,
  ...usersEndpoints,
  ...alertChannelsEndpoints,
  ...configEndpoints,
  ...modelsEndpoints,
  ...embeddingsEndpoints,
  ...searchEndpoints,
  ...sessionsEndpoints,
  ...chatEndpoints,
  ...runningTurnEndpoints,
  ...reportsEndpoints,
  ...readyEndpoints,
];
