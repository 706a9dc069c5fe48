import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CompanyNetwork, startCompanyNetwork } from '../support/company-network.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { type GitServer, startGitServer } from '../support/git-server.ts';
import { useDatabase } from '../support/hooks.ts';
import { hasOpenssl } from '../support/openssl.ts';
import { type PingServer, startPingServer } from '../support/ping-server.ts';
import { useS3Server } from '../support/s3-server.ts';
import { type FinishedScript, runScript } from '../support/script.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';

// Every name below corp.test is unknown to the resolver, and its certificate to every store of authorities.
describe.skipIf(!hasOpenssl)(
  'behind a proxy, with a private authority (skipped without openssl)',
  () => {
    const folder = useTemporaryFolder();
    const database = useDatabase();
    const s3 = useS3Server();
    let network: CompanyNetwork;
    let gitServer: GitServer;
    let pings: PingServer;
    let other: ScriptedServer;
    let name: string;
    let made = 0;
    beforeEach(async () => {
      network = await startCompanyNetwork(folder);
      gitServer = await startGitServer();
      pings = await startPingServer();
      other = await startScriptedServer(({ path }) => ({ status: 200, body: answers[path] ?? {} }));
      const app = await createRepository(join(folder, 'app'));
      await app.commit({ 'a.txt': 'a' });
      // Archives of earlier tests are recorded in the same database.
      name = `app${++made}`;
      gitServer.serve(`team/${name}.git`, app.path);
    });
    afterEach(async () => {
      await network.close();
      await gitServer.close();
      await pings.close();
      await other.close();
    });

    const answers: Record<string, unknown> = {
      '/models': { data: [{ id: 'model-of-tests' }] },
      '/domains': { data: [{ name: 'corp.test', status: 'verified' }] },
    };
    const trusting = () => ({ NODE_EXTRA_CA_CERTS: network.authority });
    const storeAt = (name: string, prefix: string) => {
      const address = new URL(s3.address(prefix));
      const url = network.publish(name, `${address.searchParams.get('endpoint')}`);
      address.searchParams.set('endpoint', url);
      address.searchParams.set('private', 'yes');
      return address.href;
    };
    const worker = (args: string[], env: Record<string, string>): Promise<FinishedScript> =>
      runScript('worker', { args, cwd: folder, env: { ...s3.env, ...env } });
    const backUp = (env: Record<string, string>) => {
      const url = network.publish('git', gitServer.url);
      const pinged = new URL(pings.address);
      const HEARTBEAT_URL = `${network.publish('ping', pinged.origin)}${pinged.pathname}`;
      return worker(['run', '--source', `${url}/team/${name}.git`], {
        ...{ DATABASE_URL: database.url, BACKUP_STORES: storeAt('s3', 'one'), HEARTBEAT_URL },
        ...env,
      });
    };

    it.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'])(
      'a run reaches git, the bucket and the heartbeat through %s',
      async (variable) => {
        const env = { [variable]: network.proxy, ...trusting(), DRILL_BUDGET_MINUTES: '0' };
        const { code, stdout, stderr } = await backUp(env);
        expect(code, stdout + stderr).toBe(0);
        expect(new Set(network.asked)).toEqual(
          new Set(['git', 's3', 'ping'].map((host) => `CONNECT ${host}.corp.test:443`)),
        );
        expect(pings.pings.map(({ what }) => what)).toEqual(['/start', '']);
        expect(stdout + stderr).not.toContain(network.password);
      },
    );

    it('variables in .env count too', async () => {
      const lines = Object.entries({ HTTPS_PROXY: network.proxy, ...trusting() });
      await writeFile(
        join(folder, '.env'),
        lines.map(([name, value]) => `${name}=${value}\n`).join(''),
      );
      const { code, stdout, stderr } = await backUp({});
      expect(code, stdout + stderr).toBe(0);
      const args = ['restore', '--from', storeAt('s3', 'one'), '--list'];
      expect((await worker(args, {})).stdout).toContain(`team/${name}`);
      expect(await readdir(join(folder, '.data'))).toContain('git-authorities.pem');
    });

    it('git and the bucket are refused without the authority', async () => {
      const { code, stdout, stderr } = await backUp({ HTTPS_PROXY: network.proxy });
      expect(code).toBe(1);
      expect(stdout + stderr).toMatch(/certificate/);
    });

    it('a name in NO_PROXY is not asked for at the proxy', async () => {
      const env = { HTTPS_PROXY: network.proxy, ...trusting(), NO_PROXY: '.corp.test' };
      const { code } = await worker(['restore', '--from', storeAt('s3', 'one'), '--list'], env);
      expect(code).toBe(1);
      expect(network.asked).toEqual([]);
    });

    it('a proxy that refuses is named as the reason, without its password', async () => {
      const proxy = network.proxy.replace(network.password, 'another-password');
      const env = { HTTPS_PROXY: proxy, ...trusting(), HEARTBEAT_URL: 'https://ping.corp.test/x' };
      const { code, stdout, stderr } = await backUp(env);
      expect(code).toBe(1);
      expect(stderr).toContain(
        'HEARTBEAT_URL was not notified of this run: it cannot be reached (ERR_PROXY_TUNNEL)',
      );
      expect(stdout + stderr).not.toContain('another-password');
    });

    it.each(['HTTP_PROXY', 'http_proxy'])(
      'http goes through %s, also that of git',
      async (variable) => {
        const args = ['run', '--source', `${gitServer.url}/team/${name}.git`];
        const stores = {
          BACKUP_STORES: s3.address('two', '&private=yes'),
          HEARTBEAT_URL: pings.address,
        };
        const env = { DATABASE_URL: database.url, ...stores, [variable]: network.proxy };
        const { code, stdout, stderr } = await worker(args, env);
        expect(code, stdout + stderr).toBe(0);
        const hosts = network.asked.map((line) => line.split(' ')[1] ?? '');
        const endpoint = `${new URL(s3.address('two')).searchParams.get('endpoint')}`;
        for (const url of [gitServer.url, endpoint, new URL(pings.address).origin]) {
          expect(hosts.some((host) => host.startsWith(url))).toBe(true);
        }
      },
    );

    it('alerts are sent through the proxy', async () => {
      const host = new URL(network.publish('hooks', other.url)).host;
      const { stdout, stderr } = await runScript('alerts', {
        ...{ args: ['test'], cwd: folder },
        env: {
          ...{ HTTPS_PROXY: network.proxy, ...trusting() },
          ALERT_CHANNELS: `gotify+https://${host}/base/GotifyTokenOfTests`,
        },
      });
      expect({ stdout, asked: network.asked }, stderr).toEqual({
        ...{ stdout: 'gotify-1: sent\n', asked: ['CONNECT hooks.corp.test:443'] },
      });
    });

    it('the doctor reaches the gateway and the mail service, and shows what is in effect', async () => {
      const url = network.publish('services', other.url);
      const { stdout } = await runScript('doctor', {
        ...{ args: ['--json'], cwd: folder },
        env: {
          ...{ HTTPS_PROXY: network.proxy, ...trusting(), NO_PROXY: 'localhost,.internal' },
          ...{ GATEWAY_BASE_URL: url, GATEWAY_MODEL: 'model-of-tests', RESEND_BASE_URL: url },
          ...{
            RESEND_API_KEY: 're_key',
            SMTP_FROM: 'a@corp.test',
            SMTP_TO: 'a@corp.test',
            DATABASE_URL: database.url,
          },
        },
      });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; detail: string }[] };
      const of = (name: string) => checks.find((check) => check.name === name)?.detail;
      const place = new URL(network.proxy).host;
      expect(['proxy', 'authorities', 'mail'].map(of)).toEqual([
        `https through http://${place}, http directly; directly: localhost, .internal`,
        `1 from ${network.authority}, for git too`,
        'key accepted',
      ]);
      expect(of('gateway')).not.toMatch(/fetch failed|ENOTFOUND/);
      expect(network.asked).toContain('CONNECT services.corp.test:443');
      expect(stdout).not.toContain(network.password);
    });
  },
);
