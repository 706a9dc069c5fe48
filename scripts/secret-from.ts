/**
 * Shell that puts INTERNAL_SECRET out of an environment file, so that a request can be pasted without
 * showing it. A file that a person wrote may quote the value; the one that we write does not.
 */
export function secretFrom(file: string): string {
  const path = /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
  const unquote = file.endsWith('local.env') ? '' : ` | tr -d \\"\\'`;
  return `$(sed -n 's/^INTERNAL_SECRET=//p' ${path}${unquote})`;
}
