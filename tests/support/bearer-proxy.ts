import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TEST_TOKEN } from './mcp.ts';

/**
 * Passes requests on with the bearer token of tests, for a client that cannot send one. Leaves everything else
 * unchanged, including the Host header.
 */
export async function startBearerProxy(target: string) {
  const { hostname, port } = new URL(target);
  const server = createServer((request, response) => {
    const { method = '', url = '/' } = request;
    const headers = { ...request.headers, authorization: `Bearer ${TEST_TOKEN}` };
    const onward = send({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', (error) => response.destroy(error));
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
