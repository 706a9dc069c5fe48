import { version } from '../../lib/version.ts';
import { checkDatabase } from './database.ts';
import { describeFeatures } from './features.ts';
import { checkGateway } from './gateway.ts';
import { checkArchives, checkGit } from './machine.ts';
import { checkMail } from './mail.ts';
import { checkAuthorities, checkProxy } from './outgoing.ts';
import { checkRedis } from './redis.ts';
import type { Check, DoctorReport } from './report.ts';
import { checkServers } from './service-api.ts';
import { examineSpool } from './spool.ts';
import type { Subject } from './subject.ts';
import { checkVariables } from './variables.ts';
import { checkHeartbeat, examineStores } from './worker-config.ts';

/** Checks everything that is configured, each with its own time limit. */
export async function examine(subject: Subject): Promise<DoctorReport> {
  const { isHosted } = subject;
  // Deployed functions have none of this.
  const ofMachine = isHosted
    ? []
    : [
        ...[checkProxy, checkAuthorities],
        ...[checkGit, checkArchives, examineSpool, examineStores, checkHeartbeat],
      ].map((check) => check(subject));
  const [variables, redis, gateway, mail, servers, ...machine] = await Promise.all([
    checkVariables(subject),
    checkRedis(subject),
    checkGateway(subject),
    checkMail(subject),
    checkServers(subject),
    ...ofMachine,
  ]);
  // Last, because an embedded database that starts in this process would delay all other checks.
  const database = await checkDatabase(subject);
  const checks: Check[] = [...variables, ...database, redis, gateway, mail, ...machine, ...servers];
  return {
    version,
    configuration: isHosted ? 'hosted' : 'local',
    ok: checks.every(({ status }) => status !== 'failed'),
    checks,
    features: describeFeatures(checks, subject),
  };
}
