import { databaseUnavailable } from './database.ts';

/** SQLSTATE classes and codes that say the server cannot serve now, whatever was asked of it. */
const unavailableStates = [
  /^08/, // connection exception
  /^53/, // insufficient resources
  /^57P/, // shutdown, crash, cannot connect now
  /^57014$/, // canceled by a timeout
  /^58/, // system error, such as a full disk
  /^28/, // wrong credentials
  /^3D000$/, // no such database
  /^25P0[23]$/, // an aborted or idle transaction of another client
];

const unavailableMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection ended|server closed the connection|fetch failed|error connecting to database/i;

/**
 * Tells a database that does not answer from a statement that failed. The first becomes
 * SERVICE_UNAVAILABLE with the driver's error as its cause, the second stays what it is.
 */
export function translateDatabaseError(error: unknown): unknown {
  return isUnavailable(error) ? databaseUnavailable(error) : error;
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, sourceError } = error as { code?: unknown; sourceError?: unknown };
  // Errors of sockets and name look-ups: ECONNREFUSED, ECONNRESET, ENOTFOUND, EPIPE …
  if (typeof code === 'string' && /^E(?!RR_)[A-Z_]+$/.test(code)) return true;
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    return unavailableStates.some((state) => state.test(code));
  }
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return true;
  return unavailableMessages.test(error.message) || isUnavailable(sourceError);
}
