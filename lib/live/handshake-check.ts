import { AppError } from '../errors.ts';

/** The protocol versions that the library supports. */
const versions = ['13', '8'];
/** 16 bytes in base64 (RFC 6455, 4.1). */
const key = /^[+/0-9A-Za-z]{22}==$/;

/** Throws UPGRADE_REQUIRED for a request that is not a handshake, or BAD_REQUEST for a malformed key. */
export function checkHandshake(header: (name: string) => string | undefined): void {
  if (!versions.includes(header('sec-websocket-version') ?? '')) {
    throw upgradeRequired();
  }
  if (!key.test(header('sec-websocket-key') ?? '')) {
    throw new AppError('BAD_REQUEST', 'Sec-WebSocket-Key must be 16 bytes in base64');
  }
}

/** The error for a request without a WebSocket handshake, or with an unsupported version. */
export function upgradeRequired(): AppError {
  return new AppError('UPGRADE_REQUIRED', 'a WebSocket handshake is required', {
    headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': versions.join(', ') },
  });
}
