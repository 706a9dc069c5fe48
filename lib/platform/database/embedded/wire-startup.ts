import { randomInt } from 'node:crypto';
import {
  cstrings,
  FatalError,
  frame,
  parameterMessage,
  readCstring,
  readyMessage,
} from './wire-messages.ts';
import { ClientGone, type WireStream } from './wire-stream.ts';

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;
const PROTOCOL_MAJOR = 3;

/**
 * Greets a client up to its startup packet and returns the parameters in it. Encryption is declined. A
 * request to cancel is ignored, as a statement cannot be interrupted.
 */
export async function receiveStartup(stream: WireStream): Promise<ReadonlyMap<string, string>> {
  for (;;) {
    const packet = await stream.nextStartup();
    const code = packet.readInt32BE(0);
    if (code === SSL_REQUEST || code === GSS_REQUEST) {
      stream.write(Buffer.from('N', 'latin1'));
      continue;
    }
    if (code === CANCEL_REQUEST) throw new ClientGone('the client asked to cancel');
    if (code >> 16 !== PROTOCOL_MAJOR) {
      throw new FatalError('0A000', `protocol ${code >> 16}.${code & 0xffff} is not supported`);
    }
    const parameters = readParameters(packet.subarray(4));
    const unknown = [...parameters.keys()].filter((name) => name.startsWith('_pq_.'));
    if ((code & 0xffff) > 0 || unknown.length > 0) stream.write(negotiate(unknown));
    checkNames(parameters);
    return parameters;
  }
}

/** Lets a client in: no password, the settings it starts with (its own before the defaults), ready. */
export function acceptStartup(
  stream: WireStream,
  clientId: number,
  defaults: ReadonlyMap<string, string>,
  settings: ReadonlyMap<string, string>,
): void {
  const key = Buffer.alloc(8);
  key.writeInt32BE(clientId, 0);
  key.writeInt32BE(randomInt(2 ** 31), 4);
  stream.write(
    Buffer.concat([
      frame('R', Buffer.alloc(4)),
      ...[...defaults].map(([name, value]) => parameterMessage(name, settings.get(name) ?? value)),
      frame('K', key),
      readyMessage('I'),
    ]),
  );
}

function readParameters(body: Buffer): Map<string, string> {
  const parameters = new Map<string, string>();
  for (let offset = 0; body[offset] !== 0; ) {
    const name = readCstring(body, offset);
    const value = readCstring(body, name.next);
    parameters.set(name.text, value.text);
    offset = value.next;
  }
  return parameters;
}

/** There is one role and one database; a client that means another one shall hear of it. */
function checkNames(parameters: ReadonlyMap<string, string>): void {
  const user = parameters.get('user') ?? '';
  const database = parameters.get('database') || user;
  if (user !== 'postgres') throw new FatalError('28000', `role "${user}" does not exist`);
  if (database !== 'postgres') {
    throw new FatalError('3D000', `database "${database}" does not exist`);
  }
  if (parameters.has('replication')) {
    throw new FatalError('0A000', 'the embedded database has no replication');
  }
}

/** Says that the protocol is 3.0 without the options that the client asked for. */
function negotiate(unknown: string[]): Buffer {
  const counts = Buffer.alloc(8);
  counts.writeInt32BE(PROTOCOL_MAJOR << 16, 0);
  counts.writeInt32BE(unknown.length, 4);
  return frame('v', Buffer.concat([counts, cstrings(...unknown)]));
}
