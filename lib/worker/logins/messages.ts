import { AppError } from '../../errors.ts';
import type { LoginName } from './login.ts';

const logins: Record<LoginName, { words: string; options: string }> = {
  'github:source': { words: 'source login', options: 'github' },
  'github:destination': {
    words: 'destination login',
    options: 'github --profile destination --import-token',
  },
  'gateway:default': { words: 'gateway login', options: 'gateway' },
};

/** The command for a login. */
export function loginCommand(name: LoginName): string {
  return `npm run worker -- login ${logins[name].options}`;
}

/** The name of a login in messages. */
export function describeLogin(name: LoginName): string {
  return logins[name].words;
}

/** The error for a login that can no longer be used. Ends a command with exit code 4. */
export function logInAgain(name: LoginName, why: string): AppError {
  return new AppError(
    'UNAUTHORIZED',
    `the ${describeLogin(name)} cannot be used: ${why}. Log in again: ${loginCommand(name)}`,
  );
}
