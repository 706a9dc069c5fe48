import type { GatewayConfig } from '../platform/config/gateway.ts';
import type { Deps } from '../platform/deps.ts';
import { createGatewayClient, type GatewayClient } from './client.ts';
import { createGatewayCredentials, type GatewayCredentials } from './credentials.ts';
import type { EmbeddingModel } from './models.ts';
import { createModelRegistry, type ModelRegistry } from './registry.ts';
import { createGatewayTransport, type GatewayTransport } from './transport.ts';

/** The model gateway as a surface or command has it. */
export interface Gateway {
  /** For what `client` lacks, such as streams: give `keys.use` a request of it. */
  transport: GatewayTransport;
  client: GatewayClient;
  credentials: GatewayCredentials;
  registry: ModelRegistry;
}

/** Builds the parts of one process. `builtIn` are the embedding models that need no gateway. */
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
