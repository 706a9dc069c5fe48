import { z } from 'zod';
import { variableGroups } from '../../lib/config/groups.ts';
import { type HttpConfig, httpVariables } from '../../lib/config/http.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/config/read.ts';
import { MIN_SECRET_LENGTH } from '../../lib/config/values.ts';
import { surfaces } from '../../lib/surfaces/surface-paths.ts';
import { type Check, type Finding, failed, named, ok, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

/** What is missing without a secret. */
interface Secret {
  name: 'JWT_SECRET' | 'MCP_AUTH_TOKEN' | 'CREDENTIALS_ENCRYPTION_KEY' | 'CRON_SECRET';
  missing: string;
  /** Only in a deployment: `npm start` does not need it. */
  onlyHosted?: true;
  /** Does a whole surface of a deployment answer 503 without it? */
  isRequired?: true;
}

const secrets: readonly Secret[] = [
  { name: 'JWT_SECRET', missing: 'nobody can log in to the observatory', isRequired: true },
  {
    name: 'MCP_AUTH_TOKEN',
    missing: 'the MCP server answers 503 over the network',
    isRequired: true,
  },
  { name: 'CREDENTIALS_ENCRYPTION_KEY', missing: 'users cannot connect gateway keys of their own' },
  {
    name: 'CRON_SECRET',
    missing: "the platform's cron is refused, so that nothing ends abandoned runs",
    onlyHosted: true,
  },
];

/** Checks the values of all variables, and each secret. */
export async function checkVariables(subject: Subject): Promise<Check[]> {
  const checks = [named('variables', findBadValues(subject.environment))];
  const internal = await withConfig(httpVariables, subject, (config) =>
    checkInternalSecret(config, subject),
  );
  checks.push(named('INTERNAL_SECRET', internal));
  for (const secret of secrets) {
    if (secret.onlyHosted && !subject.isHosted) continue;
    const shape = z.object({ [secret.name]: allVariables.shape[secret.name] as z.ZodType });
    checks.push(
      named(secret.name, await withConfig(shape, subject, () => checkSecret(secret, subject))),
    );
  }
  if (subject.isHosted) checks.push(named('limits', checkLimits(subject)));
  return checks;
}

const allVariables = z.object(
  Object.assign({}, ...Object.values(variableGroups).map(({ shape }) => shape)) as z.ZodRawShape,
);

function findBadValues(environment: Environment): Finding {
  try {
    readConfig(allVariables, environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return failed(error.message, 'correct these values');
  }
  const set = Object.keys(allVariables.shape).filter((name) => environment[name]).length;
  return ok(`${set} set, with values that fit`);
}

function checkInternalSecret(
  { API_REQUIRE_AUTH, INTERNAL_SECRET = '' }: HttpConfig,
  { makesSecrets, isHosted }: Subject,
): Finding {
  if (!API_REQUIRE_AUTH) {
    return warning(
      'API_REQUIRE_AUTH is false: whoever reaches the service API may read everything',
      'unset API_REQUIRE_AUTH where others reach the server',
    );
  }
  if (INTERNAL_SECRET.length >= MIN_SECRET_LENGTH) return ok('set');
  if (INTERNAL_SECRET === '' && makesSecrets) return madeAtStart;
  const fault = INTERNAL_SECRET === '' ? 'not set' : 'too short';
  return failed(
    `${fault}: ${isHosted ? 'the service API answers 503' : 'the server does not start'}`,
    `set ${MIN_SECRET_LENGTH} random characters or more: openssl rand -hex 32`,
  );
}

const madeAtStart: Finding = ok('made by the first `npm start`');

function checkSecret(
  { name, missing, isRequired }: Secret,
  { environment, makesSecrets, isHosted }: Subject,
): Finding {
  if (environment[name]) return ok('set');
  if (makesSecrets) return madeAtStart;
  return {
    status: isHosted && isRequired ? 'failed' : 'warning',
    detail: `not set: ${missing}`,
    effect: 'prevents',
    next: `set ${name}: openssl rand -hex 32`,
  };
}

/** Finds limits that exceed how long the platform lets a function run. */
function checkLimits({ environment }: Subject): Finding {
  const most = surfaces.find(({ name }) => name === 'observatory')?.maxDuration ?? 0;
  const tooLong = ['AGENT_REQUEST_DEADLINE_SECONDS', 'EMBEDDING_BATCH_TIME_BUDGET_SECONDS'].filter(
    (name) => Number(environment[name]) >= most,
  );
  if (tooLong.length === 0) {
    return ok(`turns and batches end within the ${most} s of a function`);
  }
  return warning(
    `${tooLong.join(' and ')}: the platform ends a function after ${most} s, before its work is stored`,
    `set less than ${most}`,
  );
}
