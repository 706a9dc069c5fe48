import {
  cstrings,
  FatalError,
  frame,
  parameterMessage,
  readCstring,
  readyMessage,
} from './wire-messages.ts';
import type { WireStream } from './wire-stream.ts';

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;
const PROTOCOL_MAJOR = 3;

/** Identifies the client whose statement is to be canceled, with its secret key. */
export interface CancelRequest {
  id: number;
  key: Buffer;
}

/**
 * Reads a client's startup packet and returns its parameters, or its cancel request. Declines encryption.
 */
export async function receiveStartup(
  stream: WireStream,
): Promise<ReadonlyMap<string, string> | CancelRequest> {
  const declined = new Set<number>();
  for (;;) {
    const packet = await stream.nextStartup();
    const code = packet.readInt32BE(0);
    if (code === SSL_REQUEST || code === GSS_REQUEST) {
      if (declined.has(code)) throw new FatalError('08P01', 'encryption was declined already');
      declined.add(code);
      stream.write(Buffer.from('N', 'latin1'));
      continue;
    }
    if (code === CANCEL_REQUEST) {
      if (packet.length !== 12) throw new FatalError('08P01', 'malformed cancel request');
      return { id: packet.readInt32BE(4), key: packet.subarray(8) };
    }
    if (code >> 16 !== PROTOCOL_MAJOR) {
      throw new FatalError('0A000', `protocol ${code >> 16}.${code & 0xffff} is not supported`);
    }
    const parameters = readParameters(packet.subarray(4));
    const unknown = [...parameters.keys()].filter((name) => name.startsWith('_pq_.'));
    if ((code & 0xffff) > 0 || unknown.length > 0) stream.write(negotiate(unknown));
    return parameters;
  }
}

/** Accepts a client and reports its initial settings: its own, else the defaults. */
export function acceptStartup(
  stream: WireStream,
  { id, key }: CancelRequest,
  defaults: ReadonlyMap<string, string>,
  settings: ReadonlyMap<string, string>,
): void {
  const number = Buffer.alloc(4);
  number.writeInt32BE(id);
  stream.write(
    Buffer.concat([
      frame('R', Buffer.alloc(4)),
      ...[...defaults].map(([name, value]) => parameterMessage(name, settings.get(name) ?? value)),
      frame('K', Buffer.concat([number, key])),
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

/** Rejects any user or database other than `postgres`: there is only one of each. */
export function checkNames(parameters: ReadonlyMap<string, string>): void {
  const user = parameters.get('user') ?? '';
  const database = parameters.get('database') || user;
  if (user !== 'postgres') throw new FatalError('28000', `role "${user}" does not exist`);
  if (database !== 'postgres') {
    throw new FatalError('3D000', `database "${database}" does not exist`);
  }
  if (parameters.has('replication')) {
    throw new FatalError('0A000', 'the embedded database does not support replication');
  }
}

/** Encodes a NegotiateProtocolVersion: protocol 3.0, without the requested options. */
function negotiate(unknown: string[]): Buffer {
  const counts = Buffer.alloc(8);
  counts.writeInt32BE(PROTOCOL_MAJOR << 16, 0);
  counts.writeInt32BE(unknown.length, 4);
  return frame('v', Buffer.concat([counts, cstrings(...unknown)]));
}
