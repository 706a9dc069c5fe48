import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gitHostVariables } from '../../lib/config/git-host.ts';
import { readConfig } from '../../lib/config/read.ts';
import { redisVariables } from '../../lib/config/redis.ts';
import { callInternalService } from '../../lib/http/internal-service.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import { createGitHostClient } from '../../lib/worker/hosts/client.ts';
import { connectGitHost } from '../../lib/worker/hosts/connection.ts';
import { lookUpRepository } from '../../lib/worker/hosts/look-up.ts';
import { createTestClock } from '../support/clock.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

// A service that redirects our requests gains nothing: they reach neither another server of this machine, nor anyone
// with our credentials. (Redirects of the gateway, the mail service and git are tested in their suites.)

let other: ScriptedServer;
let service: ScriptedServer;
/** The responses of the service by path; any other path redirects to the other server. */
let own: Record<string, ScriptedAnswer>;
let status: number;

beforeEach(async () => {
  own = {};
  status = 307;
  other = await startScriptedServer(() => ({ body: { full_name: 'ada/app', private: false } }));
  service = await startScriptedServer(
    ({ path }) => own[path] ?? { status, headers: { Location: `${other.url}/stolen` } },
  );
});
afterEach(() => Promise.all([other.close(), service.close()]));

const signal = new AbortController().signal;

function gitHost() {
  const config = readConfig(gitHostVariables, { GIT_HOST_URL: service.url });
  return createGitHostClient({
    connection: connectGitHost(config, { fetch, clock: createTestClock(), signal }),
    token: async () => 'a-token-of-the-git-host',
    notify: () => undefined,
    retryPauseMs: 1,
  });
}

describe('the git host', () => {
  it.each([301, 302, 303, 307, 308])(
    'does not follow a redirect to another server (%i)',
    async (code) => {
      status = code;
      await expect(lookUpRepository(gitHost(), 'ada/app')).rejects.toThrow(
        /redirects to another host/,
      );
      expect(other.received).toEqual([]);
    },
  );

  it('does not resend codes, not even to itself', async () => {
    const path = '/api/v3/app-manifests/a-code/conversions';
    own[path] = { status: 307, headers: { Location: '/api/v3/elsewhere' } };
    const asked = gitHost().request('POST /app-manifests/{code}/conversions', { code: 'a-code' });
    await expect(asked).rejects.toThrow(/redirects to another host/);
    expect(service.received.filter((request) => request.path !== path)).toEqual([]);
  });

  it('redirects to a renamed repository at its own address', async () => {
    own['/api/v3/repos/ada/old'] = { status: 301, headers: { Location: '/api/v3/repositories/7' } };
    own['/api/v3/repositories/7'] = {
      headers: { 'Content-Type': 'application/json' },
      body: { full_name: 'ada/app', private: false },
    };
    expect(await lookUpRepository(gitHost(), 'ada/old')).toMatchObject({
      repository: { full_name: 'ada/app' },
    });
    expect(service.received.at(-1)?.headers.authorization).toBe('Bearer a-token-of-the-git-host');
  });

  it('stops at a redirect loop', async () => {
    own['/api/v3/repos/ada/app'] = { status: 302, headers: { Location: '/api/v3/repos/ada/app' } };
    await expect(lookUpRepository(gitHost(), 'ada/app')).rejects.toThrow(
      /redirects to another host/,
    );
  });

  it.each(['http://127.0.0.1:1/', '//127.0.0.1:1/', 'file:///etc/passwd', 'http://[', ''])(
    'does not redirect to %j',
    async (Location) => {
      own['/api/v3/repos/ada/app'] = { status: 302, headers: { Location } };
      await expect(lookUpRepository(gitHost(), 'ada/app')).rejects.toThrow(
        /redirects to another host/,
      );
    },
  );
});

it('only another service of the product gets the internal secret, not its redirect target', async () => {
  const called = callInternalService(
    { name: 'the service API', url: service.url, secret: 'the internal secret', fetch },
    { path: '/api/backups', signal },
  );
  await expect(called).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(other.received).toEqual([]);
});

it('only Redis gets its token, not its redirect target', async () => {
  const redis = openRedis(
    readConfig(redisVariables, {
      UPSTASH_REDIS_REST_URL: service.url,
      UPSTASH_REDIS_REST_TOKEN: 'the-token-of-Redis',
    }),
  );
  await expect(redis?.get('key')).rejects.toThrow();
  expect(JSON.stringify(service.received)).toContain('the-token-of-Redis');
  // Its client follows redirects, which cannot be prevented; SECURITY.md documents this.
  expect(other.received).not.toEqual([]);
  expect(JSON.stringify(other.received)).not.toContain('the-token-of-Redis');
});
