import { AppError } from '../errors.ts';

/** The versions of the protocol that the library speaks. */
const versions = ['13', '8'];
/** 16 bytes in base64 (RFC 6455, 4.1). */
const key = /^[+/0-9A-Za-z]{22}==$/;

/** Throws UPGRADE_REQUIRED, or BAD_REQUEST for a malformed key, when a request is no handshake. */
export function checkHandshake(header: (name: string) => string | undefined): void {
  if (!versions.includes(header('sec-websocket-version') ?? '')) {
    throw upgradeRequired();
  }
  if (!key.test(header('sec-websocket-key') ?? '')) {
    throw new AppError('BAD_REQUEST', 'Sec-WebSocket-Key must be 16 bytes in base64');
  }
}

/** The answer to a request for a WebSocket that does not ask for one, or for another version of it. */
export function upgradeRequired(): AppError {
  return new AppError('UPGRADE_REQUIRED', 'the handshake of a WebSocket is required', {
    headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': versions.join(', ') },
  });
}
