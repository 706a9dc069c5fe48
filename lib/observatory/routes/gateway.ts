import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { declareRoute, refused, wrapped } from '../declare.ts';

const common = { tag: 'Gateway', access: 'user', path: '/me/gateway' } as const;

const timestamp = memoize(() => z.iso.datetime({ precision: 6 }));

const connectionStatus = memoize(() =>
  z
    .object({
      connected: z.boolean(),
      source: z.enum(['user', 'server', 'none']).meta({
        description: 'Whose key your requests use: your own, one of the server’s, or none.',
      }),
      key_hint: z.string().nullable().meta({ description: 'The end of your key.' }),
      connected_at: timestamp().nullable(),
      last_used_at: timestamp().nullable(),
      invalid: z.boolean().meta({ description: 'The gateway refused your key: connect again.' }),
    })
    .meta({ id: 'GatewayConnection' }),
);

const storage = memoize(() => ({
  503: refused('Keys cannot be stored (CREDENTIAL_STORAGE_UNAVAILABLE), or no database.'),
}));

const verifierFault = 'must have 43 to 128 characters';

/** POST /me/gateway/exchange. */
export const exchangeRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/me/gateway/exchange',
  summary: 'Connect your own gateway key: the code of the gateway’s page for a key',
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          code: z.string().min(1).max(4096),
          code_verifier: z.string().min(43, verifierFault).max(128, verifierFault),
        })
        .meta({ id: 'GatewayExchange' }),
    ),
  },
  responses: () => ({
    200: wrapped('The connection.', connectionStatus()),
    400: refused('Malformed input, or the gateway refused the code (GATEWAY_EXCHANGE_FAILED).'),
    502: refused('The gateway gave no key (GATEWAY_EXCHANGE_UNAVAILABLE).'),
    ...storage(),
  }),
});

/** GET /me/gateway. */
export const readConnectionRoute = declareRoute({
  ...common,
  method: 'get',
  summary: 'Read how you are connected to the gateway',
  responses: () => ({ 200: wrapped('The connection.', connectionStatus()), ...storage() }),
});

/** DELETE /me/gateway. */
export const disconnectRoute = declareRoute({
  ...common,
  method: 'delete',
  summary: 'Forget your gateway key',
  responses: () => ({ 200: wrapped('The connection.', connectionStatus()), ...storage() }),
});
