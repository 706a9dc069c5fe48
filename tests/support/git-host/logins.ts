import { randomBytes } from 'node:crypto';
import { Hono } from 'hono';
import { type GitHostState, grantAppToken, type PollAnswer } from './state.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const DEVICE_SECONDS = 900;

/** The host's pages for programs that log in: device codes, tokens, refreshes. */
export function loginRoutes(state: GitHostState, url: () => string): Hono {
  const app = new Hono();
  app.post('/login/device/code', async (c) => {
    const { client_id: clientId = '' } = await c.req.json<Record<string, string>>();
    const known = state.apps.get(clientId);
    if (!known) return c.json({ error: 'Not Found' }, 404);
    if (!known.deviceFlow) return fault('device_flow_disabled');
    const deviceCode = randomBytes(20).toString('hex');
    const userCode = 'WDJB-MJHT';
    const endsAt = state.clock.now() + DEVICE_SECONDS * 1_000;
    state.devices.set(deviceCode, { clientId, userCode, endsAt, login: null });
    return c.json({
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${url()}/login/device`,
      expires_in: DEVICE_SECONDS,
      interval: state.interval,
    });
  });

  app.post('/login/oauth/access_token', async (c) => {
    const body = await c.req.json<Record<string, string>>();
    const known = state.apps.has(body.client_id ?? '');
    if (!known) return fault('incorrect_client_credentials');
    if (body.grant_type !== 'refresh_token' && body.grant_type !== DEVICE_GRANT)
      return fault('unsupported_grant_type');
    const scripted = state.polls.shift();
    if (scripted && 'status' in scripted) return answerWith(scripted, body);
    if (scripted && 'keepsRefreshToken' in scripted) return renewAlone();
    if (scripted) return fault(scripted.error, scripted.interval);
    if (body.grant_type === 'refresh_token') return refresh(body);
    const device = state.devices.get(body.device_code ?? '');
    if (!device) return fault('incorrect_device_code');
    if (device.endsAt <= state.clock.now()) return fault('expired_token');
    if (device.login === null) return fault('authorization_pending');
    state.devices.delete(body.device_code ?? '');
    return Response.json(grantAppToken(state, device.login, device.clientId));
  });

  function renewAlone(): Response {
    const { access_token, expires_in } = grantAppToken(state, 'ada', 'Iv1.standin');
    return Response.json({ access_token, expires_in });
  }

  function refresh(body: Record<string, string>): Response {
    const spent = state.refreshTokens.get(body.refresh_token ?? '');
    const isGood =
      spent && spent.clientId === body.client_id && (spent.endsAt ?? 0) > state.clock.now();
    if (!isGood) return fault('bad_refresh_token');
    // Rotation: the old one is no longer valid.
    state.refreshTokens.delete(body.refresh_token ?? '');
    return Response.json(grantAppToken(state, spent.login, spent.clientId));
  }
  return app;
}

function answerWith(
  { status, retryAfter, echo, error }: Extract<PollAnswer, { status: number }>,
  body: Record<string, string>,
): Response {
  const message = echo ? `no ${body.device_code ?? body.refresh_token}` : 'no';
  const headers = retryAfter ? { 'Retry-After': String(retryAfter) } : {};
  return Response.json({ message, error }, { status, headers: headers as Record<string, string> });
}

/** The host answers OAuth errors with status 200. */
function fault(error: string, interval?: number): Response {
  return Response.json({
    error,
    error_description: `it is ${error}`,
    error_uri: 'https://docs.example.org',
    ...(interval ? { interval } : {}),
  });
}
