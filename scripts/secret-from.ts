/**
 * Shell that puts INTERNAL_SECRET out of an environment file, so that a request can be pasted without
 * showing it. A file that a person wrote may quote the value; the one that we write does not.
 */
export function secretFrom(file: string): string {
  const unquote = file.endsWith('local.env') ? '' : ` | tr -d \\"\\'`;
  return `$(sed -n 's/^INTERNAL_SECRET=//p' ${quoted(file)}${unquote})`;
}

/** A path as one word of a shell. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
