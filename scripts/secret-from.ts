/**
 * A shell expression that reads INTERNAL_SECRET from an environment file, so that a request can be pasted
 * without showing it. A hand-written file may quote the value; our own does not.
 */
export function secretFrom(file: string): string {
  const unquote = file.endsWith('local.env') ? '' : ` | tr -d \\"\\'`;
  return `$(sed -n 's/^INTERNAL_SECRET=//p' ${quoted(file)}${unquote})`;
}

/** A path as one shell word. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
