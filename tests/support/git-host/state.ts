import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../lib/clock.ts';

export interface HostRepository {
  /** `owner/name`. */
  fullName: string;
  private?: boolean;
  /** Open to its enterprise; its API calls it private too. */
  internal?: boolean;
  archived?: boolean;
  fork?: boolean;
  /** KiB, as its API has it. */
  size?: number;
  /** Closed by the host: its API answers 451. */
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
  /** Its repositories are then unavailable. */
  suspended?: boolean;
}

/** What one poll of the device flow, or a refresh, answers instead of the ordinary. */
export type PollAnswer =
  | { error: string; interval?: number }
  /** `echo`: with the code or refresh token that it was sent; `error`: with a code of OAuth. */
  | { status: number; retryAfter?: number; echo?: boolean; error?: string }
  /** Grants a token, as a host that does not rotate refresh tokens. */
  | { keepsRefreshToken: true };

/** An answer that the next request of the API gets instead of the ordinary. */
export type ApiAnswer =
  /** `echo`: the host repeats in its message what it was sent. */
  | { status: number; echo?: boolean }
  /** The limit of an hour, over until the host's clock is at `resetInSeconds`. */
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
  /** Milliseconds since the epoch; null does not end. */
  endsAt: number | null;
  ofApp: boolean;
}

/** The state of the stand-in host. Tests change it while it runs. */
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
  /** Answers of the next polls; afterwards it is decided by `approve`. */
  polls: PollAnswer[];
  apiAnswers: ApiAnswer[];
  /** Code of the manifest flow → what it becomes. */
  manifests: Map<string, Record<string, unknown>>;
  requests: HostRequest[];
  tokenSeconds: number;
  refreshSeconds: number;
  /** Whether its API says when a token expires. */
  tellsExpiration: boolean;
  /** Seconds between polls that the host asks for. */
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
    tellsExpiration: false,
    interval: 5,
    pageSize: 100,
  };
}

/** A token in a form of the real host's, so that redaction is tried on it too. */
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
