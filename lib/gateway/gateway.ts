import type { GatewayConfig } from '../config/gateway.ts';
import type { Deps } from '../http/deps.ts';
import { createGatewayClient, type GatewayClient } from './client.ts';
import { createGatewayCredentials, type GatewayCredentials } from './credentials.ts';
import type { EmbeddingModel } from './model-list.ts';
import { createModelRegistry, type ModelRegistry } from './model-registry.ts';
import { createGatewayTransport, type GatewayTransport } from './transport.ts';

/** The parts of the model gateway client. */
export interface Gateway {
  /** For requests that `client` does not cover, such as streams; call it within `keys.use`. */
  transport: GatewayTransport;
  client: GatewayClient;
  credentials: GatewayCredentials;
  registry: ModelRegistry;
}

/** Builds the parts of one process. `builtIn` lists the embedding models that need no gateway. */
export function createGateway(
  deps: Deps<GatewayConfig>,
  builtIn: readonly EmbeddingModel[],
): Gateway {
  const transport = createGatewayTransport(deps);
  const client = createGatewayClient(transport);
  return {
    transport,
    client,
    credentials: createGatewayCredentials(deps),
    registry: createModelRegistry({ ...deps, transport, client, builtIn }),
  };
}
