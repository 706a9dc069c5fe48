/** A text as one argument of a POSIX shell: as it is if nothing in it is special, else in single quotes. */
export function shellQuote(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
