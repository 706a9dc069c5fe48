import * as z from 'zod';
import { isLoopbackHost, parseNetwork } from '../text/network.ts';

const portError = 'must be a port number, 0 to 65535';

/** A port number. */
export const port = z
  .string()
  .regex(/^\d{1,5}$/, portError)
  .transform(Number)
  .refine((number) => number <= 65535, portError);

/** `true` or `false`. */
export const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .default(fallback ? 'true' : 'false')
    .transform((value) => value === 'true');

const atLeast = (characters: number) =>
  z.string().min(characters, `must have at least ${characters} characters`);

/** Minimum lengths in characters. Passwords may be shorter because people type them. */
export const MIN_SECRET_LENGTH = 32;
export const MIN_PASSWORD_LENGTH = 12;

/** A secret that grants access to this service. */
export const secret = atLeast(MIN_SECRET_LENGTH);

/** A user's password. */
export const password = atLeast(MIN_PASSWORD_LENGTH);

/** Comma-separated entries; empty ones are dropped. */
export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** An IP address or CIDR. */
export const network = z
  .string()
  .refine((text) => parseNetwork(text) !== null, 'must be a list of IP addresses or CIDRs');

/**
 * A URL that secrets are sent to: https, or http to loopback. Credentials are not allowed: they could end up in logs,
 * and `fetch` rejects them anyway.
 */
export const secureUrl = z
  .string()
  .refine(isSecureUrl, 'must be an https URL without credentials (http to loopback only)');

function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isPrivate = protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
  return isPrivate && username === '' && password === '';
}

/** A whole number from `min` to `max`. */
export const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number, ${min} to ${max}`;
  return z.coerce.number(error).pipe(z.int(error).min(min, error).max(max, error));
};

/** A number of seconds above 0 and at most `max`; fractions are allowed. */
export const seconds = (max: number) => {
  const error = `must be a number of seconds above 0, at most ${max}`;
  return z.coerce.number(error).positive(error).max(max, error);
};
