import { z } from 'zod';
import { httpVariables } from '../../lib/config/http.ts';
import { listenVariables, ownUrl } from '../../lib/config/listen.ts';
import { backendVariables } from '../../lib/config/mcp.ts';
import { AppError } from '../../lib/errors.ts';
import { callInternalService, ServiceResponseError } from '../../lib/http/internal-service.ts';
import { parseJson } from '../../lib/json.ts';
import { version } from '../../lib/version.ts';
import { hasCode, reasonOf, timed, withinLimit } from './measuring.ts';
import { type Check, type CheckFinding, failed, off, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 10_000;
const REQUEST_TIMEOUT_MS = 4_000;

const { INTERNAL_SECRET } = httpVariables.shape;
const ownVariables = z.object({ ...listenVariables.shape, INTERNAL_SECRET });
const backendOnly = z.object({ BACKEND_URL: backendVariables.shape.BACKEND_URL, INTERNAL_SECRET });
type Secret = string | undefined;

const liveness = z.object({ status: z.literal('ok'), version: z.string() });

/** Checks the running server of this configuration: here on PORT, or at BACKEND_URL. */
export async function checkServers(subject: Subject): Promise<Check[]> {
  const checks: Check[] = [];
  if (!subject.isHosted) {
    const found = await withConfig(ownVariables, subject, (config) => checkOwn(subject, config));
    checks.push(toCheck('server', found));
  }
  if (subject.isHosted || subject.environment.BACKEND_URL) {
    const found = await withConfig(backendOnly, subject, (config) => checkBackend(subject, config));
    checks.push(toCheck('backend', found));
  }
  return checks;
}

async function checkOwn(
  subject: Subject,
  config: z.output<typeof ownVariables>,
): Promise<CheckFinding> {
  const url = ownUrl(config);
  if (url === undefined) return off('PORT is 0: not checked');
  return checkHttpServer(subject, config.INTERNAL_SECRET, url, (reason, error) =>
    hasCode(error, 'ECONNREFUSED')
      ? off(`not running at ${url}`, 'npm start')
      : failed(
          `another program listens at ${url}: ${reason}`,
          'stop that program, or set another PORT',
        ),
  );
}

async function checkBackend(
  subject: Subject,
  config: z.output<typeof backendOnly>,
): Promise<CheckFinding> {
  const url = config.BACKEND_URL;
  if (url === undefined) {
    return {
      status: 'warning',
      detail: 'BACKEND_URL is not set: the tool send_backup_report of the MCP server does not work',
      next: "set BACKEND_URL to the deployment's URL",
    };
  }
  return checkHttpServer(subject, config.INTERNAL_SECRET, url, (reason) => ({
    status: subject.isHosted ? 'warning' : 'failed',
    detail: `BACKEND_URL, ${url}: ${reason}`,
    next: subject.isHosted ? 'deploy, and check again' : 'correct BACKEND_URL, or start the server',
  }));
}

/** Checks whether a server is alive, has its database and accepts our secret. */
async function checkHttpServer(
  subject: Subject,
  secret: Secret,
  url: string,
  absent: (reason: string, error?: unknown) => CheckFinding,
): Promise<CheckFinding> {
  const ask = async (path: string, sent?: string) => {
    const { text } = await callInternalService(
      { name: 'it', url, secret: sent, fetch: subject.fetch, timeoutMs: REQUEST_TIMEOUT_MS },
      { path, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) },
    );
    return text;
  };
  return withinLimit(
    WITHIN_MS,
    subject.clock,
    async () => {
      const { value: health, latency_ms } = await timed(() => ask('/health'));
      const alive = liveness.safeParse(parseJson(health)).data;
      if (alive === undefined) return absent('/health does not answer like our server');
      const fault = await findFault(ask, secret);
      if (fault !== null) return { ...fault, detail: `${url}: ${fault.detail}`, latency_ms };
      if (alive.version !== version) {
        return warning(
          `${url} runs version ${alive.version}, but this is ${version}`,
          subject.isHosted ? 'deploy' : 'restart the server',
          { latency_ms },
        );
      }
      return ok(url, { latency_ms });
    },
    absent,
  );
}

async function findFault(
  ask: (path: string, secret?: string) => Promise<string>,
  secret: Secret,
): Promise<CheckFinding | null> {
  try {
    await ask('/ready');
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failed('it runs, but its database does not answer', 'check its log');
  }
  try {
    // Only now, because the secret must only be sent to our server.
    await ask('/api/backups?limit=1', secret);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failed(
      error instanceof ServiceResponseError && error.status === 401
        ? 'it has a different INTERNAL_SECRET'
        : reasonOf(error),
      'restart or redeploy it with these variables',
    );
  }
}
