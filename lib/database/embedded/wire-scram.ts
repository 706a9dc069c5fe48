import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../clock.ts';
import { cstrings, FatalError, frame, readCstring } from './wire-messages.ts';
import type { WireStream } from './wire-stream.ts';

const MECHANISM = 'SCRAM-SHA-256';
const ITERATIONS = 4096;
/** The message size limit before authentication. */
const MAX_MESSAGE_BYTES = 2_048;
/** Delays the answer to a wrong password, to slow down guessing. */
const FAILURE_DELAY_MS = 1_000;

const wrong = new FatalError('28P01', 'password authentication failed');
const malformed = new FatalError('08P01', 'malformed authentication message');

/** A password verifier: it can check a password but does not reveal it. */
export interface ScramSecret {
  salt: Buffer;
  storedKey: Buffer;
  serverKey: Buffer;
}

export async function makeScramSecret(password: string): Promise<ScramSecret> {
  const salt = randomBytes(16);
  const salted = await promisify(pbkdf2)(password, salt, ITERATIONS, 32, 'sha256');
  const storedKey = sha256(hmac(salted, 'Client Key'));
  return { salt, storedKey, serverKey: hmac(salted, 'Server Key') };
}

/**
 * Authenticates a client with SCRAM-SHA-256 (RFC 5802 and 7677, without channel binding), which also
 * authenticates the server to the client. Throws FatalError, after a delay for a wrong password.
 */
export async function authenticate(
  stream: WireStream,
  { salt, storedKey, serverKey }: ScramSecret,
  clock: Clock,
): Promise<void> {
  stream.write(askFor(10, cstrings(MECHANISM, '')));
  const first = await receive(stream);
  const { text: mechanism, next } = readCstring(first);
  if (mechanism !== MECHANISM) throw malformed;
  const [, gs2 = '', bare = '', nonce = ''] = parse(
    /^([ny],,)((?:n=[^,]*),r=([\x21-\x2b\x2d-\x7e]{1,256}))$/,
    first.subarray(next + 4),
  );

  const serverNonce = nonce + randomBytes(18).toString('base64');
  const offer = `r=${serverNonce},s=${salt.toString('base64')},i=${ITERATIONS}`;
  stream.write(askFor(11, Buffer.from(offer)));
  const [, unproved = '', binding = '', repeated, proof = ''] = parse(
    /^(c=([\w+/=]+),r=([\x21-\x2b\x2d-\x7e]+)),p=([\w+/=]+)$/,
    await receive(stream),
  );

  const exchange = [bare, offer, unproved].join(',');
  const clientKey = xor(Buffer.from(proof, 'base64'), hmac(storedKey, exchange));
  const isSameExchange =
    binding === Buffer.from(gs2).toString('base64') && repeated === serverNonce;
  if (!timingSafeEqual(sha256(clientKey), storedKey) || !isSameExchange) {
    await clock.sleep(FAILURE_DELAY_MS, stream.signal);
    throw wrong;
  }
  stream.write(askFor(12, Buffer.from(`v=${hmac(serverKey, exchange).toString('base64')}`)));
}

async function receive(stream: WireStream): Promise<Buffer> {
  const { type, body } = await stream.nextMessage(MAX_MESSAGE_BYTES);
  if (type !== 'p') throw malformed;
  return body;
}

function parse(pattern: RegExp, message: Buffer): RegExpExecArray {
  const match = pattern.exec(message.toString('latin1'));
  if (match === null) throw malformed;
  return match;
}

/** Encodes an Authentication message of this kind. */
function askFor(kind: number, data: Buffer): Buffer {
  const number = Buffer.alloc(4);
  number.writeInt32BE(kind);
  return frame('R', Buffer.concat([number, data]));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

function xor(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(other.map((byte, index) => byte ^ (one[index] ?? 0)));
}
