/** What a person decides about. */
export interface NewConfirmation {
  /** A UUID that nobody can guess. */
  id: string;
  /** Who alone may decide. */
  username: string;
  tool: string;
  /** Of the arguments that were shown. */
  argsHash: string;
  /** Milliseconds since the epoch: nobody decides from then on. */
  expiresAt: number;
}

/** A look of the stream that waits for a decision. */
export interface ConfirmationClaim extends Pick<NewConfirmation, 'id' | 'tool' | 'argsHash'> {
  /** Of the one who looks. */
  claimant: string;
}

/** Spec 2, Tool confirmation. */
export type ConfirmationState = 'pending' | 'approved' | 'rejected' | 'expired';

/**
 * Where confirmations are. Each method is one atomic step, so that of two at once one comes first. A
 * pending one whose time is over is expired, whoever looks. Rejects when the store does not answer.
 */
export interface ConfirmationStore {
  add(confirmation: NewConfirmation): Promise<void>;
  /** Null when the user has none of this id; else whether this call decided it. */
  decide(id: string, username: string, decision: 'approved' | 'rejected'): Promise<boolean | null>;
  /**
   * The state, for the stream that waits. The first claimant of an approval of exactly this tool and these
   * arguments spends it, and is told so again when an answer was lost; to any other it is `expired`:
   * nothing runs twice or as it was not shown.
   */
  claim(claim: ConfirmationClaim): Promise<ConfirmationState>;
  /** Expires it when it is still pending. */
  expire(id: string): Promise<void>;
}

/** So long a decided or expired confirmation is readable: a late answer gets 409, not 404. */
export const KEPT_MS = 24 * 3_600_000;
