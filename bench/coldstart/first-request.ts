import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

// Loads a built function in a fresh process and sends it one request. The arguments are the file, the path and the
// request as JSON. Prints the milliseconds from before the import to the end of the response, and the status.

const [file = '', path = '', init = '{}'] = process.argv.slice(2);
const started = performance.now();
const { default: exported } = await import(file);
const status = await answer();
const milliseconds = performance.now() - started;
process.stdout.write(`${JSON.stringify({ milliseconds, status })}\n`);
flushCompileCache();
process.exit();

async function answer(): Promise<number> {
  if ('fetch' in exported) {
    const response: Response = await exported.fetch(
      new Request(`http://localhost${path}`, JSON.parse(init)),
    );
    await response.text();
    return response.status;
  }
  // A Node server, which the platform drives.
  exported.listen(0, '127.0.0.1');
  await once(exported, 'listening');
  const { port } = exported.address() as AddressInfo;
  const [response] = (await once(
    get({ host: '127.0.0.1', port, path, agent: false }),
    'response',
  )) as [IncomingMessage];
  await text(response);
  return response.statusCode ?? 0;
}
