import { AppError } from '../../errors.ts';
import type { LoginName } from './login.ts';

/** The command for a login. */
export function loginCommand(name: LoginName): string {
  switch (name) {
    case 'github:source':
      return 'npm run worker -- login github';
    case 'github:destination':
      return 'npm run worker -- login github --profile destination --import-token';
    case 'gateway:default':
      return 'npm run worker -- login gateway';
  }
}

export function describeLogin(name: LoginName): string {
  switch (name) {
    case 'github:source':
      return 'source login';
    case 'github:destination':
      return 'destination login';
    case 'gateway:default':
      return 'gateway login';
  }
}

/** The error for a login that can no longer be used. Ends a command with exit code 4. */
export function logInAgain(name: LoginName, why: string): AppError {
  return new AppError(
    'UNAUTHORIZED',
    `the ${describeLogin(name)} cannot be used: ${why}. Log in again: ${loginCommand(name)}`,
  );
}
