import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

// Loads a built function in a fresh process and asks it once: the file, the path and the request as JSON
// come as arguments. Prints the milliseconds from before the import to the whole answer, and the status.

const [file = '', path = '', init = '{}'] = process.argv.slice(2);
const started = performance.now();
const { default: exported } = await import(file);
const response = await answer();
await response.text();
const milliseconds = performance.now() - started;
process.stdout.write(`${JSON.stringify({ milliseconds, status: response.status })}\n`);
process.exit();

async function answer(): Promise<Response> {
  if ('fetch' in exported) {
    return exported.fetch(new Request(`http://localhost${path}`, JSON.parse(init)));
  }
  // A server of Node's own, which the platform drives.
  exported.listen(0, '127.0.0.1');
  await once(exported, 'listening');
  const { port } = exported.address() as AddressInfo;
  return fetch(`http://127.0.0.1:${port}${path}`, JSON.parse(init));
}
