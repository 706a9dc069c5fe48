import type { Caller } from '../../scripts/tables/access-table.ts';
import { createTestClock } from '../support/clock.ts';
import { ADA, signToken, type TokenChanges } from '../support/observatory-client.ts';

/** The user in the users table; ada is the user of the environment. */
export const OTHER = 'grace';

/** The credentials that a server is configured with. */
export interface Credentials {
  internal: string;
  cron: string;
  mcp: string;
  /** JWT_SECRET. */
  signingKey: string;
  /** The password of ada. */
  password: string;
}

/** A credential in one part of a request. */
export interface Way {
  name: string;
  headers: Record<string, string>;
  /** Added to the query. */
  query?: Record<string, string>;
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
/** A token as sent by a page of this server. */
const asCookie = (token: string) => ({
  Cookie: `backup-observatory=${token}`,
  'Sec-Fetch-Site': 'same-origin',
});
const asSecret = (secret: string) => ({ 'X-Internal-Secret': secret });

/** Presents the credentials of a server in every way, good and bad. */
export async function makeWays(known: Credentials): Promise<Record<Caller, Way[]>> {
  const { internal, cron, mcp, signingKey, password } = known;
  const sign = (username: string, changes?: TokenChanges) =>
    signToken(clock, username, { secret: signingKey, ...changes });
  const clock = { clock: createTestClock(Date.now()) };
  const now = Math.floor(Date.now() / 1000);
  const [user, other, expired, foreign] = await Promise.all([
    sign(ADA.username),
    sign(OTHER),
    sign(ADA.username, { claims: { iat: now - 7200, exp: now - 3600 } }),
    sign(ADA.username, { secret: 'another key of forty letters, not ours 00' }),
  ]);
  const all = [internal, cron, mcp, user];
  return {
    nobody: [
      { name: 'nothing', headers: {} },
      { name: 'empty headers', headers: { Authorization: '', 'X-Internal-Secret': '' } },
      {
        name: 'the secrets in the address',
        headers: {},
        query: { secret: internal, access_token: user, token: mcp, key: cron },
      },
      {
        name: 'the secrets in cookies',
        headers: { Cookie: `token=${user}; access_token=${user}; secret=${internal}` },
      },
      ...all.map((value, index) => ({
        name: `secret ${index} as Basic`,
        headers: { Authorization: `Basic ${btoa(`${value}:${value}`)}` },
      })),
      ...all.map((value, index) => ({
        name: `secret ${index} without a scheme`,
        headers: { Authorization: value },
      })),
    ],
    wrong: [
      { name: 'another text as both', headers: { ...bearer('wrong'), ...asSecret('wrong') } },
      { name: 'the secret without its end', headers: asSecret(internal.slice(0, -1)) },
      { name: 'more than the secret', headers: { ...asSecret(`${internal}0`) } },
      { name: 'the token without its end', headers: bearer(mcp.slice(0, -1)) },
      { name: 'a token of another key', headers: bearer(foreign) },
      { name: 'a session cookie of another key', headers: asCookie(foreign) },
      {
        name: 'a session cookie beside a wrong token',
        headers: { ...asCookie(user), ...bearer('x') },
      },
      { name: 'an unsigned token', headers: bearer(unsign(user)) },
      { name: 'a token whose signature is cut', headers: bearer(user.slice(0, -1)) },
      { name: 'CRON_SECRET as X-Internal-Secret', headers: asSecret(cron) },
      { name: 'MCP_AUTH_TOKEN as X-Internal-Secret', headers: asSecret(mcp) },
      { name: 'a user token as X-Internal-Secret', headers: asSecret(user) },
      { name: 'the signing key', headers: bearer(signingKey) },
      { name: 'the password', headers: bearer(password) },
      { name: 'a key of the gateway', headers: bearer('server-key-number-1') },
    ],
    expired: [
      { name: 'an expired token', headers: bearer(expired) },
      { name: 'an expired session cookie', headers: asCookie(expired) },
    ],
    internal: [
      { name: 'the secret', headers: asSecret(internal) },
      { name: 'the secret as bearer', headers: bearer(internal) },
    ],
    cron: [{ name: 'CRON_SECRET', headers: bearer(cron) }],
    mcp: [{ name: 'MCP_AUTH_TOKEN', headers: bearer(mcp) }],
    other: [
      { name: "another user's token", headers: bearer(other) },
      { name: "another user's session cookie", headers: asCookie(other) },
    ],
    user: [
      { name: "the user's token", headers: bearer(user) },
      { name: "the user's session cookie", headers: asCookie(user) },
    ],
  };
}

function unsign(token: string): string {
  const header = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  return `${header}.${token.split('.')[1]}.`;
}
