import fc from 'fast-check';
import { SignJWT } from 'jose';
import { TEST_SECRET } from '../../support/deps.ts';
import { TEST_TOKEN } from '../../support/mcp.ts';
import { ADA, TEST_JWT_SECRET } from '../../support/observatory-client.ts';
import type { Operation } from './operations.ts';

export const CRON_SECRET = 'a-secret-of-the-cron-of-tests-with-43-letters';

/** Headers that grant access, or not. */
export interface Credentials {
  /** The credentials that the operation asks for. */
  rightFor(operation: Operation): fc.Arbitrary<Record<string, string>>;
  /** Any credential, right or wrong, or none. */
  any: fc.Arbitrary<Record<string, string>>;
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Makes one credential of each kind for the users ada and bob, and some that are never accepted. */
export async function makeCredentials(): Promise<Credentials> {
  const [ada, bob, nobody, expired, forged] = await Promise.all([
    signToken(ADA.username),
    signToken('bob'),
    signToken('nobody'),
    signToken(ADA.username, { exp: 1 }),
    signToken(ADA.username, {}, `${TEST_JWT_SECRET}!`),
  ]);
  const byScheme: Record<string, Record<string, string>[]> = {
    InternalSecret: [{ 'X-Internal-Secret': TEST_SECRET }],
    InternalBearer: [bearer(TEST_SECRET)],
    CronBearer: [bearer(CRON_SECRET)],
    McpBearer: [bearer(TEST_TOKEN)],
    UserToken: [bearer(ada), bearer(ada), bearer(bob)],
  };
  const wrong = [
    {},
    { 'X-Internal-Secret': `${TEST_SECRET}x` },
    { 'X-Internal-Secret': '' },
    { Authorization: '' },
    { Authorization: 'Bearer' },
    { Authorization: 'Bearer \xff\xfe' },
    { Authorization: 'Basic YWRhOmFkYQ==' },
    bearer(nobody),
    bearer(expired),
    bearer(forged),
    bearer('a.b.c'),
    bearer('x'.repeat(5_000)),
    { 'X-Internal-Secret': TEST_SECRET, Authorization: `Bearer ${expired}` },
  ];
  return {
    rightFor({ schemes }) {
      const right = schemes.flatMap((scheme) => byScheme[scheme] ?? []);
      return right.length === 0 ? fc.constant({}) : fc.constantFrom(...right);
    },
    any: fc.constantFrom<Record<string, string>>(...Object.values(byScheme).flat(), ...wrong),
  };
}

/** A token of the user ada. */
export const tokenOfAda = () => signToken(ADA.username);

/** A token for one day, by the system clock, which is also the server's. */
function signToken(username: string, claims = {}, secret = TEST_JWT_SECRET): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const own = { sub: username, iss: 'backup', aud: 'backup', iat: now, exp: now + 86_400 };
  return new SignJWT({ ...own, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret));
}
