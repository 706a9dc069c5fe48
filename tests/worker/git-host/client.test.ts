import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { listInstallations, readAccount } from '../../../lib/worker/hosts/account.ts';
import { createGitHostClient } from '../../../lib/worker/hosts/client.ts';
import { explainHostError } from '../../../lib/worker/hosts/errors.ts';
import { listPages } from '../../../lib/worker/hosts/list-pages.ts';
import { grantAppToken } from '../../support/git-host/state.ts';
import { untilSleeping, useLoginBench } from '../../support/logins.ts';

const bench = useLoginBench();
let token: string;
beforeEach(async () => {
  token = grantAppToken(bench.host.state, 'ada', 'Iv1.standin').access_token;
});

const clientOf = (signal = new AbortController().signal) =>
  createGitHostClient({
    connection: { ...bench.connection, signal },
    token: async () => token,
    notify: (text) => bench.notices.push(text),
    retryPauseMs: 1,
  });

describe('the client of the git host', () => {
  it.each([500, 502, 503, 429])('retries a request after %d', async (status) => {
    bench.host.state.apiAnswers.push({ status }, { status });
    expect(await readAccount(clientOf())).toBe('ada');
    expect(bench.host.state.requests).toHaveLength(3);
  });

  it('reads the token for each request', async () => {
    const client = clientOf();
    await readAccount(client);
    token = grantAppToken(bench.host.state, 'ada', 'Iv1.standin').access_token;
    await readAccount(client);
    const sent = bench.host.state.requests.map(({ authorization }) => authorization);
    expect(new Set(sent).size).toBe(2);
    expect(sent[1]).toBe(`Bearer ${token}`);
  });

  it.each([
    [
      { limit: 'primary', resetInSeconds: 600 } as const,
      /waiting 1[01] min, until 05:1[67]:\d\d UTC/,
    ],
    [{ limit: 'secondary', retryAfter: 42 } as const, /waiting 42 s, until 05:06:42 UTC/],
  ])('waits for a rate limit and shows until when: %j', async (limit, notice) => {
    bench.host.state.apiAnswers.push(limit);
    const account = readAccount(clientOf());
    await untilSleeping(bench);
    expect(bench.notices).toEqual([expect.stringMatching(notice)]);
    expect(bench.host.state.requests).toHaveLength(1);
    bench.clock.advance(700_000);
    expect(await account).toBe('ada');
  });

  it('does not wait for a limit of days', async () => {
    bench.host.state.apiAnswers.push({ limit: 'primary', resetInSeconds: 30 * 86_400 });
    await expect(readAccount(clientOf())).rejects.toMatchObject({ status: 403 });
    expect(bench.notices).toEqual([]);
  });

  it('ends a wait at once when the run is interrupted, with its reason', async () => {
    bench.host.state.apiAnswers.push({ limit: 'secondary', retryAfter: 3_600 });
    const interrupt = new AbortController();
    const account = readAccount(clientOf(interrupt.signal));
    await untilSleeping(bench);
    interrupt.abort(new Error('interrupted by SIGINT'));
    await expect(account).rejects.toThrow('interrupted by SIGINT');
  });

  it('reads every page of a list', async () => {
    bench.host.state.pageSize = 2;
    for (const id of [1, 2, 3, 4, 5]) {
      const one = { id, account: `team${id}`, repositories: [] };
      bench.host.state.installations.push({
        ...one,
        accountType: 'Organization',
        selection: 'all',
      });
    }
    const found = await listInstallations(clientOf());
    expect(found.map(({ account }) => account)).toEqual([
      'team1',
      'team2',
      'team3',
      'team4',
      'team5',
    ]);
    expect(bench.host.state.requests).toHaveLength(3);
  });

  it('fails for a list with too many pages, so that the rest does not count as deleted', async () => {
    bench.host.state.pageSize = 1;
    for (const id of [1, 2, 3]) {
      const one = { id, account: 'ada', accountType: 'User', selection: 'all' } as const;
      bench.host.state.installations.push({ ...one, repositories: [] });
    }
    const pagesUpTo = async (most: number) => {
      const pages: unknown[] = [];
      const route = 'GET /user/installations';
      for await (const page of listPages(clientOf(), route, {}, z.unknown(), most))
        pages.push(page);
      return pages;
    };
    expect(await pagesUpTo(3)).toHaveLength(3);
    await expect(pagesUpTo(2)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});

it('no page of a list is fetched from an address in the response', async () => {
  const visited: string[] = [];
  const server = createServer((request, response) => {
    visited.push(`${request.headers.host}${request.url}`);
    const { port } = server.address() as AddressInfo;
    const last = request.url?.includes('page=2');
    // Another name of the same machine stands in for a foreign host.
    const link = last ? {} : { Link: `<http://localhost:${port}/elsewhere>; rel="next"` };
    response.writeHead(200, { 'Content-Type': 'application/json', ...link });
    response.end('{"installations": []}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connection = { ...bench.connection, apiUrl: `http://127.0.0.1:${port}` };
  const client = createGitHostClient({
    connection,
    token: async () => token,
    notify: () => undefined,
  });
  expect(await listInstallations(client)).toEqual([]);
  expect(visited.map((address) => address.split('?')[0])).toEqual([
    `127.0.0.1:${port}/user/installations`,
    `127.0.0.1:${port}/user/installations`,
  ]);
  server.closeAllConnections();
  server.close();
});

describe('an error of the git host', () => {
  it('contains the host and its response, but neither token nor request', async () => {
    bench.host.state.tokens.clear();
    const fault = await readAccount(clientOf()).then(
      () => null,
      (error) => explainHostError(error, bench.host.url),
    );
    expect(fault?.message).toMatch(/^127\.0\.0\.1:\d+ answered 401: Bad credentials/);
    expect(fault?.cause).toBeUndefined();
    expect(JSON.stringify({ ...fault, stack: fault?.stack })).not.toContain(token);
  });

  it('says why there was no answer', async () => {
    const connection = { ...bench.connection, apiUrl: 'http://127.0.0.1:1' };
    const client = createGitHostClient({
      connection,
      token: async () => token,
      notify: () => undefined,
      retryPauseMs: 1,
    });
    const fault = await readAccount(client).then(
      () => null,
      (error) => explainHostError(error, connection.apiUrl),
    );
    expect(fault).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/^127\.0\.0\.1:1 does not answer: .*(ECONNREFUSED|bad port)/),
    });
  });
});
