import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../lib/clock.ts';

export interface HostRepository {
  /** `owner/name`. */
  fullName: string;
  private?: boolean;
  /** Visible to its whole enterprise; the API calls it private as well. */
  internal?: boolean;
  archived?: boolean;
  fork?: boolean;
  /** In KiB, as the API has it. */
  size?: number;
  /** Disabled by the host: the API answers 451. */
  disabled?: boolean;
  defaultBranch?: string;
}

export interface HostInstallation {
  id: number;
  account: string;
  accountType: 'User' | 'Organization';
  selection: 'all' | 'selected';
  /** Full names. */
  repositories: string[];
  /** Makes its repositories unavailable. */
  suspended?: boolean;
}

/** What one poll of the device flow, or a refresh, answers instead of the usual. */
export type PollAnswer =
  | { error: string; interval?: number }
  /** `echo`: includes the code or refresh token that was sent; `error`: an OAuth error code. */
  | { status: number; retryAfter?: number; echo?: boolean; error?: string }
  /** Grants a token without a new refresh token, as a host that does not rotate them. */
  | { keepsRefreshToken: true };

/** What the next API request is answered instead of the usual. */
export type ApiAnswer =
  /** `echo`: the host repeats in its message what it was sent. */
  | { status: number; echo?: boolean }
  /** The hourly limit, which ends when the host's clock reaches `resetInSeconds`. */
  | { limit: 'primary'; resetInSeconds: number }
  | { limit: 'secondary'; retryAfter: number };

export interface HostRequest {
  method: string;
  path: string;
  /** By the host's clock. */
  at: number;
  authorization: string | null;
  body: Record<string, unknown>;
}

interface Grant {
  login: string;
  /** Milliseconds since the epoch; null if it does not expire. */
  endsAt: number | null;
  ofApp: boolean;
}

/** The state of the stand-in host. Tests change it while the host runs. */
export interface GitHostState {
  clock: Clock;
  /** Client ids of apps. */
  apps: Map<string, { deviceFlow: boolean }>;
  users: Set<string>;
  organizations: Set<string>;
  repositories: Map<string, HostRepository>;
  /** Old full name → new one. */
  renamed: Map<string, string>;
  installations: HostInstallation[];
  tokens: Map<string, Grant>;
  refreshTokens: Map<string, Grant & { clientId: string }>;
  devices: Map<
    string,
    { clientId: string; userCode: string; endsAt: number; login: string | null }
  >;
  /** Answers to the next polls; afterwards `approve` decides. */
  polls: PollAnswer[];
  apiAnswers: ApiAnswer[];
  /** Code of the manifest flow → what it becomes. */
  manifests: Map<string, Record<string, unknown>>;
  requests: HostRequest[];
  tokenSeconds: number;
  refreshSeconds: number;
  /** Whether the API says when a token expires. */
  reportsExpiration: boolean;
  /** The number of seconds that the host asks to wait between polls. */
  interval: number;
  pageSize: number;
}

export function createGitHostState(clock: Clock): GitHostState {
  return {
    clock,
    apps: new Map(),
    users: new Set(),
    organizations: new Set(),
    repositories: new Map(),
    renamed: new Map(),
    installations: [],
    tokens: new Map(),
    refreshTokens: new Map(),
    devices: new Map(),
    polls: [],
    apiAnswers: [],
    manifests: new Map(),
    requests: [],
    tokenSeconds: 8 * 3_600,
    refreshSeconds: 183 * 86_400,
    reportsExpiration: false,
    interval: 5,
    pageSize: 100,
  };
}

/** A token in a form of the real host, so that redaction is tested with it as well. */
export function makeToken(prefix: 'ghu' | 'ghr' | 'ghp' | 'gho'): string {
  return `${prefix}_${randomBytes(27).toString('hex').slice(0, 36)}`;
}

/** Grants a token pair of an app, as the device flow and a refresh do. */
export function grantAppToken(state: GitHostState, login: string, clientId: string) {
  const now = state.clock.now();
  const token = makeToken('ghu');
  const refreshToken = makeToken('ghr');
  state.tokens.set(token, { login, endsAt: now + state.tokenSeconds * 1_000, ofApp: true });
  state.refreshTokens.set(refreshToken, {
    login,
    endsAt: now + state.refreshSeconds * 1_000,
    ofApp: true,
    clientId,
  });
  return {
    access_token: token,
    expires_in: state.tokenSeconds,
    refresh_token: refreshToken,
    refresh_token_expires_in: state.refreshSeconds,
    token_type: 'bearer',
    scope: '',
  };
}

/** The account of a request's Authorization header; null if there is none. */
export function findGrant(
  state: GitHostState,
  authorization: string | null | undefined,
): Grant | null {
  const [, token = ''] = /^(?:bearer|token) (.+)$/i.exec(authorization ?? '') ?? [];
  const grant = state.tokens.get(token);
  if (!grant || (grant.endsAt !== null && grant.endsAt <= state.clock.now())) return null;
  return grant;
}
