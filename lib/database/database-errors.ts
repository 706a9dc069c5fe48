import { databaseUnavailable } from './database.ts';

/** SQLSTATEs of a server that cannot serve any statement right now. */
const unavailableStates = [
  /^08(?!P01)/, // connection exception; 08P01 means that we sent a malformed request
  /^28/, // wrong credentials
  /^3D000$/, // no such database
  /^53/, // insufficient resources
  /^57P/, // shutdown, crash, cannot connect now
  /^57014$/, // canceled, for example by a timeout
  /^58(000|030)$/, // system error, for example a full disk
  /^25P0[234]$/, // transaction aborted or timed out
];

/** Messages that drivers and proxies send without a meaningful SQLSTATE. */
const unavailableMessages = new RegExp(
  [
    'connection terminated',
    'connection ended',
    'server closed the connection',
    'not queryable',
    // The port belongs to a server of another protocol.
    'received invalid response',
    'timeout exceeded when trying to connect',
    'cannot use a pool after calling end',
    'fetch failed',
    'error connecting to database',
    "couldn't connect to compute node",
    'control plane request failed',
  ].join('|'),
  'i',
);

/** Socket and DNS errors such as ECONNREFUSED, ENOTFOUND, EPIPE; not Node's own ERR_… */
const socketCode = /^E(?!RR_)[A-Z_]+$/;
const sqlState = /^[0-9A-Z]{5}$/;

/**
 * Maps errors of an unavailable database to SERVICE_UNAVAILABLE, with the driver's error as the cause.
 * Returns all other errors unchanged.
 */
export function translateDatabaseError(error: unknown): unknown {
  return isUnavailable(error) ? databaseUnavailable(error) : error;
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, severity, sourceError } = error as {
    code?: unknown;
    severity?: unknown;
    sourceError?: unknown;
  };
  // The server closes the connection after either, whatever the code.
  if (severity === 'FATAL' || severity === 'PANIC') return true;
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return true;
  if (typeof code === 'string') {
    if (socketCode.test(code)) return true;
    // Proxies report all their own failures as XX000 (internal error).
    if (sqlState.test(code) && code !== 'XX000') {
      return unavailableStates.some((state) => state.test(code));
    }
  }
  return unavailableMessages.test(error.message) || isUnavailable(sourceError);
}
