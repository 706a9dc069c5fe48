import { findAll, type Range } from './ranges.ts';

/** What follows the password: the protocol of Go's drivers (`@tcp(`), or an address of Oracle (`@//host`, `@host:1521`). */
const afterPassword =
  /@(?:(?:[a-z][a-z\d+]{0,15})?\(|\/\/(?=[\w[])|\/(?=\w)|(?=[\w.-]{1,253}:152\d\b))/g;
/** `user:password` before `@tcp(`, and before `@/`. */
const beforeProtocol = /(?:^|[\s"'`=(,])[\w.%+$-]{1,64}:(?!\/\/)([^\s"'`\0]{1,128})$/;
const beforeDatabase = /(?:^|[\s"'`=(,])[\w.%+$-]{1,64}:([^\s"'`/\0]{1,128})$/;
/** `user/password` before `@//`, as Oracle writes it. */
const userSlashPassword = /(?:^|[\s"'`=(,:])[\w.$#-]{1,64}\/([^\s/@"'`\0]{1,128})$/;
const MAX_BEFORE = 200;
/** `jdbc:oracle:thin:user/password@host`. */
const oracle = /\bjdbc:oracle:(?:thin|oci\d?):["']?[\w.$#-]{1,64}["']?\/([^\s@"'\0]{1,128})@/g;

function patternFor(mark: string): RegExp {
  if (mark === '@//' || mark === '@') return userSlashPassword;
  return mark === '@/' ? beforeDatabase : beforeProtocol;
}

/** Finds passwords in connection strings that are no URLs. */
export function findConnectionStrings(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: mark, index } of findAll(text, afterPassword)) {
    const before = text.slice(Math.max(0, index - MAX_BEFORE), index);
    const password = patternFor(mark).exec(before)?.[1];
    if (password !== undefined) found.push({ start: index - password.length, end: index });
  }
  for (const { 0: all, 1: password = '', index } of findAll(text, oracle)) {
    const end = index + all.length - 1;
    found.push({ start: end - password.length, end });
  }
  return found;
}
