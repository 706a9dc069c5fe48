import type { McpConfig } from '../config/mcp.ts';
import type { Deps } from '../deps.ts';
import { createGatewayClient } from '../gateway/client.ts';
import { createGatewayCredentials } from '../gateway/credentials.ts';
import { createGatewayTransport } from '../gateway/transport.ts';
import { createHybridKnowledge } from '../tools/hybrid-knowledge.ts';
import type { KnowledgeSearch } from '../tools/knowledge.ts';

/**
 * What the tool search_backup_knowledge asks: the investigations of all users among the rest, with the
 * server's own gateway keys where the active generation needs the gateway.
 */
export function createKnowledgeSearch(deps: Deps<McpConfig>): KnowledgeSearch {
  const { db, log, redactor } = deps;
  const credentials = createGatewayCredentials(deps);
  const client = createGatewayClient(createGatewayTransport(deps));
  const resolveKeys = () => credentials.resolveKeys(null);
  return createHybridKnowledge({ db, log, redactor, client, resolveKeys }, null);
}
