import { CODE_MINUTES } from '../../lib/users/login-codes.ts';
import type { LocalServer } from '../local-server.ts';

/** The login link to print. Without AUTH_USERNAME there is none, and users log in with their passwords. */
export function describeLoginLink(server: LocalServer): string {
  const link = server.issueLoginLink();
  if (link === null) return '';
  return `\nOpen this link in a browser. It logs you in, once and within ${CODE_MINUTES} minutes:\n\n  ${link}\n`;
}
