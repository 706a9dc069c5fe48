import { frame } from './wire-messages.ts';

/** The size limit of a COPY FROM STDIN, which is buffered in memory until complete. */
export const MAX_COPY_BYTES = 256 * 1024 * 1024;

/** Longer statements are not recognized, because the patterns below are slow on hostile input. */
const MAX_STATEMENT_CHARS = 4_096;

const noise =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$/gi;

/**
 * Is this simple query a single COPY … FROM STDIN? PGlite needs a COPY's data together with the statement,
 * so the data is requested from the client before the statement runs.
 */
export function isCopyFromClient(sql: string): boolean {
  if (sql.length > MAX_STATEMENT_CHARS) return false;
  if (!/^\s*(?:copy\b|--|\/\*)/i.test(sql)) return false;
  let bare = sql.replace(noise, ' x ');
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\([^()]*\)/g, ' ');
  }
  return /^[\sx]*copy\s[^;]*?\sfrom\s+(?:stdin|stdout)\b[^;]*;?\s*$/i.test(bare);
}

/** The CopyInResponse for such a statement: text or binary, without column formats. */
export function copyInResponse(sql: string): Buffer {
  const isBinary = /\bbinary\b/i.test(sql.replace(/"(?:[^"]|"")*"/g, ''));
  return frame('G', Buffer.from([isBinary ? 1 : 0, 0, 0]));
}
