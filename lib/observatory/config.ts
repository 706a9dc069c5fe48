import * as z from 'zod';
import { archiveLimits } from '../archives/base/limits.ts';
import { findMissingVariables, offersServerKeys } from '../config/features.ts';
import type { ObservatoryConfig } from '../config/observatory.ts';
import type { Database } from '../database/database.ts';
import { basePathOf } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { readActiveModelId } from '../records/active-embedding-model.ts';
import { hashingModel } from '../search/embedders/hashing.ts';
import { readVectorSupport } from '../search/vector-storage.ts';
import { MCP_PATH } from '../surfaces/mcp-path.ts';
import { version } from '../version.ts';
import { observatoryRoute, sendData, wrapped } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { MAX_QUESTION_CHARS } from './chat/prepare-turn.ts';

const feature = z
  .object({
    enabled: z.boolean(),
    reason: z.string().nullable().meta({ description: 'Why it is off; null if it is on.' }),
  })
  .meta({ id: 'Feature' });

const installation = z
  .object({
    version: z.string(),
    features: z.object({
      chat: feature.meta({ description: 'Questions, with the server’s key or your own.' }),
      chat_without_own_key: feature.meta({ description: 'Questions with the server’s key.' }),
      gateway_login: feature.meta({ description: 'Connecting your own gateway key.' }),
      search_semantic: feature.meta({ description: 'Search by similarity as well as by words.' }),
      reports: feature,
      mail: feature.meta({ description: 'Mailing reports.' }),
      archives: feature.meta({ description: 'Reading archives: their files are on this server.' }),
      mcp: feature.meta({ description: 'The MCP server over the network.' }),
    }),
    models: z.object({
      chat: z
        .string()
        .nullable()
        .meta({ description: 'The default. Null if there is none: name one in each question.' }),
      embedding: z
        .string()
        .nullable()
        .meta({ description: 'The model that search uses. Null if it uses none.' }),
      embedding_default: z.string().meta({ description: 'The built-in model.' }),
    }),
    gateway: z.object({
      authorize_url: z.string().meta({ description: 'The page on which a user authorizes a key.' }),
    }),
    report_recipients: z.array(z.string()).meta({
      description: 'The addresses to which reports may be mailed.',
    }),
    mcp: z.object({
      path: z.string(),
      has_token: z.boolean().meta({ description: 'Whether MCP_AUTH_TOKEN is set.' }),
    }),
    limits: z.object({
      question_chars: z.int(),
      confirmation_timeout_seconds: z.number(),
      chat_deadline_seconds: z.number(),
      archive_file_bytes: z
        .int()
        .meta({ description: 'The largest file that can be read from an archive.' }),
    }),
  })
  .meta({ id: 'Installation' });

type Feature = z.output<typeof feature>;

const on: Feature = { enabled: true, reason: null };
const off = (reason: string): Feature => ({ enabled: false, reason });
const words = new Intl.ListFormat('en-GB');
const needs = (missing: readonly string[]) =>
  missing.length === 0 ? on : off(`${words.format(missing)} not set`);

/** GET /observatory/config. */
export const configEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...observatoryRoute,
      method: 'get',
      path: '/config',
      tag: 'Installation',
      access: 'user',
      summary: 'Read which features are on, and why the others are off',
      description: 'Depends on the configuration alone: no other service is asked.',
      responses: { 200: wrapped('The installation.', installation) },
    },
    async (_input, deps: ObservatoryDeps, c) => {
      const { config, db, hasMcpToken, explainMissingArchives } = deps;
      const [embedding, missingArchives] = await Promise.all([
        readActiveModelId(db),
        explainMissingArchives(),
      ]);
      const gatewayLogin = needs(findMissingVariables('ownGatewayKeys', config));
      const chatWithoutOwnKey = describeServerKeys(config);
      const canChat = chatWithoutOwnKey.enabled || gatewayLogin.enabled;
      return sendData(c, 'Read the installation', {
        version,
        features: {
          chat: canChat ? on : off(`${chatWithoutOwnKey.reason}; ${gatewayLogin.reason}`),
          chat_without_own_key: chatWithoutOwnKey,
          gateway_login: gatewayLogin,
          search_semantic: embedding === null ? off(await explainNoVectors(db)) : on,
          reports: on,
          mail: needs(findMissingVariables('mail', config)),
          archives: missingArchives === null ? on : off(missingArchives),
          mcp: hasMcpToken ? on : needs(findMissingVariables('mcp', {})),
        },
        models: {
          chat: config.GATEWAY_MODEL ?? null,
          embedding,
          embedding_default: hashingModel.id,
        },
        gateway: { authorize_url: config.GATEWAY_AUTHORIZE_URL },
        report_recipients: config.SMTP_TO,
        mcp: { path: `${basePathOf(c)}${MCP_PATH}`, has_token: hasMcpToken },
        limits: {
          question_chars: MAX_QUESTION_CHARS,
          confirmation_timeout_seconds: config.HITL_CONFIRMATION_TIMEOUT_SECONDS,
          chat_deadline_seconds: config.AGENT_REQUEST_DEADLINE_SECONDS,
          archive_file_bytes: archiveLimits.extractedBytes,
        },
      });
    },
  ),
];

function describeServerKeys(config: ObservatoryConfig): Feature {
  if (offersServerKeys(config)) return on;
  return config.GATEWAY_API_KEYS.length === 0
    ? off('GATEWAY_API_KEYS not set')
    : off('GATEWAY_ALLOW_SERVER_KEYS is false');
}

async function explainNoVectors(db: Database): Promise<string> {
  const { state } = await readVectorSupport(db);
  return state === 'missing'
    ? 'the database has no extension for vectors (pgvector)'
    : 'no embedding model is active yet: choose one';
}
