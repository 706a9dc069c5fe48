/** Formats a text as one POSIX shell argument: unchanged if nothing in it is special, otherwise in single quotes. */
export function shellQuote(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
