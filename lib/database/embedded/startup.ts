import type { Clock } from '../../clock.ts';
import { secretsEqual } from '../../security/crypto.ts';
import type { MessageStream } from './message-stream.ts';
import {
  FatalError,
  frame,
  int32s,
  parameterMessage,
  readCstring,
  readyMessage,
} from './messages.ts';

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;
const PROTOCOL_MAJOR = 3;

/** Kinds of Authentication messages. */
const ACCEPTED = 0;
const ASK_FOR_PASSWORD = 3;

/** The message size limit before authentication. */
const MAX_PASSWORD_BYTES = 2_048;
/** Delays the answer to a wrong password, to slow down guessing. */
const FAILURE_DELAY_MS = 1_000;

/** Identifies the client whose statement is to be canceled, with its secret key. */
export interface CancelRequest {
  id: number;
  key: Buffer;
}

/**
 * Reads a client's startup packet and returns its parameters, or its cancel request. Declines encryption.
 */
export async function receiveStartup(
  stream: MessageStream,
): Promise<ReadonlyMap<string, string> | CancelRequest> {
  for (;;) {
    const packet = await stream.nextStartup();
    const code = packet.readInt32BE(0);
    if (code === SSL_REQUEST || code === GSS_REQUEST) {
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
    return readParameters(packet.subarray(4));
  }
}

/**
 * Asks the client for the password. It comes unencrypted, which is acceptable because only the loopback
 * address asks for one. Throws FatalError, after a delay for a wrong password.
 */
export async function checkPassword(
  stream: MessageStream,
  password: string,
  clock: Clock,
): Promise<void> {
  stream.write(frame('R', int32s(ASK_FOR_PASSWORD)));
  const { type, body } = await stream.nextMessage(MAX_PASSWORD_BYTES);
  if (type !== 'p') throw new FatalError('08P01', 'a password was expected');
  if (secretsEqual(readCstring(body).text, password)) return;
  await clock.sleep(FAILURE_DELAY_MS, stream.signal);
  throw new FatalError('28P01', 'password authentication failed');
}

/** Rejects any user or database other than `postgres`: there is only one of each. */
export function checkNames(parameters: ReadonlyMap<string, string>): void {
  const user = parameters.get('user') ?? '';
  const database = parameters.get('database') || user;
  if (user !== 'postgres') throw new FatalError('28000', `role "${user}" does not exist`);
  if (database !== 'postgres') {
    throw new FatalError('3D000', `database "${database}" does not exist`);
  }
}

/** Accepts a client and reports its settings. */
export function acceptStartup(
  stream: MessageStream,
  { id, key }: CancelRequest,
  settings: [name: string, value: string][],
): void {
  stream.write(
    Buffer.concat([
      frame('R', int32s(ACCEPTED)),
      ...settings.map(([name, value]) => parameterMessage(name, value)),
      frame('K', Buffer.concat([int32s(id), key])),
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
