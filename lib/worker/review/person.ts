import { hostname, userInfo } from 'node:os';
import { cleanText } from '../../text/clean-text.ts';

/** Who gave a command: the user on this machine, because commands do not log in to the service. */
export function describeUser(): string {
  return cleanText(`${userInfo().username} on ${hostname()}`, 200);
}
