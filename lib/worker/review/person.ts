import { hostname, userInfo } from 'node:os';
import { cleanText } from '../../text/clean-text.ts';

/** Who enters a command: a person is known to the machine, not to the service. */
export function nameOfPerson(): string {
  return cleanText(`${userInfo().username} on ${hostname()}`, 200);
}
