import { createGatewayClient } from '../gateway/client.ts';
import { createGatewayCredentials } from '../gateway/credentials.ts';
import { createGatewayTransport } from '../gateway/transport.ts';
import type { McpConfig } from '../platform/config/mcp.ts';
import type { Deps } from '../platform/deps.ts';
import { search } from '../search/search.ts';
import { sourceTypes } from '../search/source-types.ts';
import type { KnowledgeSearch } from '../tools/knowledge.ts';

/**
 * The hybrid search over logs, errors, fixes and investigations of all users, with the server's own gateway
 * keys where the active generation needs the gateway (spec 3, Tool behaviour 5).
 */
export function createKnowledgeSearch(deps: Deps<McpConfig>): KnowledgeSearch {
  const { db, log, redactor } = deps;
  const credentials = createGatewayCredentials(deps);
  const handles = {
    db,
    log,
    redactor,
    client: createGatewayClient(createGatewayTransport(deps)),
    resolveKeys: () => credentials.resolveKeys(null),
  };
  return {
    async search(query, limit, signal) {
      const { results, degraded_reason } = await search(handles, {
        query,
        sourceTypes,
        limit,
        ftsWeight: 1,
        semanticWeight: 1,
        rerankModel: null,
        investigationsOf: null,
        signal,
      });
      return { hits: results, degraded_reason };
    },
  };
}
