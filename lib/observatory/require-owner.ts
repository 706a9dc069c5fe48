import type { Context } from 'hono';
import type { IdentityConfig } from '../config/identity.ts';
import { AppError } from '../errors.ts';
import type { HttpEnv } from '../http/env.ts';
import { isConfiguredUser } from '../users/user-check.ts';

/**
 * Throws FORBIDDEN unless the caller is AUTH_USERNAME, who alone manages `what`. Called before anything is looked up,
 * so that a refusal says nothing about what exists.
 */
export function requireOwner(
  c: Context<HttpEnv>,
  { config }: { config: IdentityConfig },
  what: string,
): void {
  if (isConfiguredUser(config, c.get('user'))) return;
  throw new AppError('FORBIDDEN', `only the AUTH_USERNAME user can manage ${what}: ask them`);
}
