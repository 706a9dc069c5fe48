import * as z from 'zod';
import { exchangeCode } from '../gateway/code-exchange.ts';
import { gatewayAuthUrl } from '../gateway/transport.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { observatoryRoute, refused, sendData, wrapped } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

const common = {
  ...observatoryRoute,
  tag: 'Gateway',
  access: 'user',
  path: '/me/gateway',
} as const;

const timestamp = z.iso.datetime({ precision: 6 });

const connectionStatus = z
  .object({
    connected: z.boolean(),
    source: z.enum(['user', 'server', 'none']).meta({
      description: 'Which key your requests use: your own, the server’s, or none.',
    }),
    key_hint: z.string().nullable().meta({ description: 'The last characters of your key.' }),
    connected_at: timestamp.nullable(),
    last_used_at: timestamp.nullable(),
    invalid: z.boolean().meta({ description: 'The gateway refused your key: connect again.' }),
  })
  .meta({ id: 'GatewayConnection' });

const storage = {
  503: refused(
    'Keys cannot be stored (CREDENTIAL_STORAGE_UNAVAILABLE), or the database is unavailable.',
  ),
};

const verifierFault = 'must have 43 to 128 characters';

/** GET and DELETE /me/gateway, POST /me/gateway/exchange. */
export const gatewayEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/me/gateway/exchange',
      summary: 'Connect your own gateway key with the code from the gateway’s authorization page',
      body: {
        encoding: 'json',
        schema: z
          .object({
            code: z.string().min(1).max(4096),
            code_verifier: z.string().min(43, verifierFault).max(128, verifierFault),
          })
          .meta({ id: 'GatewayExchange' }),
      },
      responses: {
        200: wrapped('The connection.', connectionStatus),
        400: refused(
          'Malformed input, or the gateway rejected the code (GATEWAY_EXCHANGE_FAILED).',
        ),
        502: refused('The gateway returned no key (GATEWAY_EXCHANGE_UNAVAILABLE).'),
        ...storage,
      },
    },
    async ({ body }, { gateway, config }: ObservatoryDeps, c) => {
      const { credentials, transport } = gateway;
      const user = c.get('user');
      // First, because the code can be exchanged only once.
      await credentials.requireStorage(user);
      const exchange = { code: body.code, codeVerifier: body.code_verifier };
      const key = await exchangeCode(transport, gatewayAuthUrl(config), exchange);
      return sendData(c, 'Connected your gateway key', await credentials.connect(user, key));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      summary: 'Read your connection to the gateway',
      responses: { 200: wrapped('The connection.', connectionStatus), ...storage },
    },
    async (_input, { gateway }: ObservatoryDeps, c) =>
      sendData(c, 'Read the connection', await gateway.credentials.readStatus(c.get('user'))),
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      summary: 'Delete your gateway key',
      responses: { 200: wrapped('The connection.', connectionStatus), ...storage },
    },
    async (_input, { gateway }: ObservatoryDeps, c) =>
      sendData(c, 'Deleted your gateway key', await gateway.credentials.disconnect(c.get('user'))),
  ),
];
