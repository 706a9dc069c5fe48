import { exchangeCode } from '../gateway/exchange.ts';
import { gatewayAuthUrl } from '../gateway/transport.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { sendData } from './answers.ts';
import type { ObservatoryHandles } from './handles.ts';
import { disconnectRoute, exchangeRoute, readConnectionRoute } from './routes/gateway.ts';

/** GET and DELETE /me/gateway, POST /me/gateway/exchange. */
export const gatewayEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(exchangeRoute, async ({ body }, { gateway, config }: ObservatoryHandles, c) => {
    const { credentials, transport } = gateway;
    const user = c.get('user');
    // Before the code is spent, which works once.
    await credentials.requireStorage(user);
    const exchange = { code: body.code, codeVerifier: body.code_verifier };
    const key = await exchangeCode(transport, gatewayAuthUrl(config), exchange);
    return sendData(c, 'Connected your gateway key', await credentials.connect(user, key));
  }),
  endpoint(readConnectionRoute, async (_input, { gateway }: ObservatoryHandles, c) =>
    sendData(c, 'Read the connection', await gateway.credentials.readStatus(c.get('user'))),
  ),
  endpoint(disconnectRoute, async (_input, { gateway }: ObservatoryHandles, c) =>
    sendData(c, 'Forgot your gateway key', await gateway.credentials.disconnect(c.get('user'))),
  ),
];
