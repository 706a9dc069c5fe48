import { frame } from './wire-messages.ts';

/** Most bytes of one COPY FROM STDIN. They are held in memory until the last has arrived. */
export const COPY_LIMIT = 256 * 1024 * 1024;

const noise =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$/gi;

/**
 * Is this simple query one COPY … FROM STDIN? PGlite wants a COPY's data together with its statement,
 * so the client is told to send it before the statement runs.
 */
export function isCopyFromClient(sql: string): boolean {
  if (!/^\s*(?:copy\b|--|\/\*)/i.test(sql)) return false;
  let bare = sql.replace(noise, ' x ');
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\([^()]*\)/g, ' ');
  }
  return /^[\sx]*copy\s[^;]*?\sfrom\s+(?:stdin|stdout)\b[^;]*;?\s*$/i.test(bare);
}

/** The CopyInResponse of such a statement: text or binary, its columns not told apart. */
export function copyInResponse(sql: string): Buffer {
  const isBinary = /\bbinary\b/i.test(sql.replace(/"(?:[^"]|"")*"/g, ''));
  return frame('G', Buffer.from([isBinary ? 1 : 0, 0, 0]));
}
