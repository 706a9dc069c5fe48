import { z } from 'zod';
import { type GatewayConfig, gatewayVariables } from '../../lib/config/gateway.ts';
import { GatewayFailure } from '../../lib/gateway/gateway-failure.ts';
import { createGatewayTransport, type GatewayTransport } from '../../lib/gateway/transport.ts';
import { counted } from '../../lib/text/units.ts';
import { timed, withinLimit } from './measuring.ts';
import { type Check, type CheckFinding, failed, off, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 8_000;
const REQUEST_TIMEOUT_MS = 5_000;

const modelList = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Checks the model gateway's list of models and the server's keys. Calls no model. */
export async function checkGateway(subject: Subject): Promise<Check> {
  const found = await withConfig(gatewayVariables, subject, async (config) => {
    const { environment, fetch, clock } = subject;
    const isConfigured = ['GATEWAY_BASE_URL', 'GATEWAY_API_KEYS', 'GATEWAY_MODEL'].some(
      (name) => environment[name],
    );
    if (!isConfigured) {
      return off(
        'the server has no key: only users who connect their own key can chat',
        'for all users: set GATEWAY_API_KEYS and GATEWAY_MODEL',
        { effect: 'limits' },
      );
    }
    const transport = createGatewayTransport({ config, fetch, clock });
    return withinLimit(
      WITHIN_MS,
      clock,
      () => askGateway(config, transport),
      (reason) =>
        failed(
          `${config.GATEWAY_BASE_URL}: ${reason}`,
          'correct GATEWAY_BASE_URL, or start the gateway',
        ),
    );
  });
  return toCheck('gateway', found);
}

async function askGateway(
  config: GatewayConfig,
  transport: GatewayTransport,
): Promise<CheckFinding> {
  const keys = config.GATEWAY_API_KEYS;
  const [{ value, latency_ms }, rejected] = await Promise.all([
    timed(() => request(transport, '/models', keys[0] ?? null)),
    Promise.all(keys.map((key) => isRejected(transport, key))),
  ]);
  const count = rejected.filter(Boolean).length;
  if (count > 0) {
    return {
      status: count === keys.length ? 'failed' : 'warning',
      detail: `${count} of ${keys.length} keys of GATEWAY_API_KEYS were rejected`,
      next: 'replace the rejected keys, counted from 1: '.concat(
        rejected.flatMap((is, index) => (is ? [index + 1] : [])).join(', '),
      ),
      latency_ms,
    };
  }
  if (value instanceof GatewayFailure) throw value;
  const models = modelList.parse(value).data.map(({ id }) => id);
  const detail = `${models.length} models, ${counted(keys.length, 'key')} of the server`;
  if (config.GATEWAY_MODEL === undefined) {
    return warning(`${detail}, no default model: chats must choose one`, 'set GATEWAY_MODEL', {
      effect: 'limits',
      latency_ms,
    });
  }
  if (!models.includes(config.GATEWAY_MODEL)) {
    return warning(
      `${detail}; GATEWAY_MODEL is not one of them`,
      'set GATEWAY_MODEL to a model that the gateway lists',
      { effect: 'limits', latency_ms },
    );
  }
  return ok(detail, { latency_ms });
}

/**
 * Whether the gateway rejects a key: OpenRouter does so at `/key`, others at `/models`. A gateway with a public list
 * and no `/key` would reject it only when a model is called.
 */
async function isRejected(transport: GatewayTransport, key: string): Promise<boolean> {
  for (const path of ['/key', '/models']) {
    const answer = await request(transport, path, key);
    if (!(answer instanceof GatewayFailure)) return false;
    if (answer.outcome === 401 || answer.outcome === 403) return true;
  }
  return false;
}

/** The response, or the failure. */
async function request(
  transport: GatewayTransport,
  to: string,
  key: string | null,
): Promise<unknown> {
  try {
    return await transport.requestJson({ method: 'GET', to, key, timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    if (error instanceof GatewayFailure) return error;
    throw error;
  }
}
