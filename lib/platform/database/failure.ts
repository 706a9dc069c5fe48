import { databaseUnavailable } from './database.ts';

/** SQLSTATEs that say the server cannot serve now, whatever was asked of it. */
const unavailableStates = [
  /^08(?!P01)/, // connection exception; 08P01 is a malformed request of ours
  /^28/, // wrong credentials
  /^3D000$/, // no such database
  /^53/, // insufficient resources
  /^57P/, // shutdown, crash, cannot connect now
  /^57014$/, // canceled, as by a timeout
  /^58(000|030)$/, // system error, such as a full disk
  /^25P0[234]$/, // a transaction that was aborted or timed out
];

/** What drivers and proxies say without a SQLSTATE, or with one of no meaning. */
const unavailableMessages = new RegExp(
  [
    'connection terminated',
    'connection ended',
    'server closed the connection',
    'not queryable',
    // What listens there speaks another protocol.
    'received invalid response',
    'query read timeout',
    'timeout exceeded when trying to connect',
    'cannot use a pool after calling end',
    'fetch failed',
    'error connecting to database',
    "couldn't connect to compute node",
    'control plane request failed',
  ].join('|'),
  'i',
);

/** Codes of sockets and name look-ups: ECONNREFUSED, ENOTFOUND, EPIPE; not Node's own ERR_… */
const socketCode = /^E(?!RR_)[A-Z_]+$/;
const sqlState = /^[0-9A-Z]{5}$/;

/**
 * Tells a database that does not answer from a statement that failed. The first becomes
 * SERVICE_UNAVAILABLE with the driver's error as its cause, the second stays what it is.
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
  // After either the server has ended the connection, whatever the code.
  if (severity === 'FATAL' || severity === 'PANIC') return true;
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return true;
  if (typeof code === 'string') {
    if (socketCode.test(code)) return true;
    // XX000, an internal error, is also what proxies send for all that is wrong with them.
    if (sqlState.test(code) && code !== 'XX000') {
      return unavailableStates.some((state) => state.test(code));
    }
  }
  return unavailableMessages.test(error.message) || isUnavailable(sourceError);
}
