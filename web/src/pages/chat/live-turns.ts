import { askChat } from '../../api/chat.ts';
import { ApiError } from '../../api/client.ts';
import { serverNow } from '../../api/clock.ts';
import { randomUuid } from './random-uuid.ts';
import { applyEvent, newTurn, type Turn } from './turn.ts';

const none: readonly Turn[] = [];

/**
 * The turns that were asked on this page, by conversation. Listeners are called at most once per browser frame,
 * however many pieces of an answer arrive.
 *
 * A browser opens at most six connections to a server, in all tabs together. So a turn is only followed while its page
 * is visible, and until it waits for the user. Then the conversation, which is read again and again, shows how it goes
 * on.
 */
export class LiveTurns {
  readonly #turns = new Map<string, readonly Turn[]>();
  readonly #listeners = new Set<() => void>();
  readonly #streams = new Set<AbortController>();
  readonly #onStored: () => void;
  #isShowing = false;

  /** `onStored` is called when a question has been stored, and when its answer has been. */
  constructor(onStored: () => void) {
    this.#onStored = onStored;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The turns of a conversation, oldest first. */
  of(session: string): readonly Turn[] {
    return this.#turns.get(session) ?? none;
  }

  async ask(session: string, question: string): Promise<void> {
    const requestId = randomUuid();
    const askedAt = new Date(serverNow()).toISOString();
    const leaving = new AbortController();
    this.#streams.add(leaving);
    this.#set(session, [...this.of(session), newTurn({ requestId, question, askedAt })]);
    const change = (to: (turn: Turn) => Turn) =>
      this.#set(
        session,
        this.of(session).map((turn) => (turn.requestId === requestId ? to(turn) : turn)),
      );
    const leaveIfHidden = () => {
      if (document.hidden) leaving.abort();
    };
    try {
      const asked = { session, requestId, question };
      const events = await askChat(asked, leaving.signal);
      this.#onStored();
      // Not before: the server would not get a question whose request ends too early.
      document.addEventListener('visibilitychange', leaveIfHidden);
      leaveIfHidden();
      for await (const event of events) {
        change((turn) => applyEvent(turn, event));
        if (event.type === 'confirm_required') leaving.abort();
      }
    } catch (error) {
      if (error instanceof ApiError) {
        const { message, code } = error;
        change((turn) => ({ ...turn, state: 'failed', failure: { message, code, requestId } }));
      }
    }
    document.removeEventListener('visibilitychange', leaveIfHidden);
    this.#streams.delete(leaving);
    // If the stream broke off, the turn may go on: the conversation, which is read again, says so.
    change((turn) => {
      if (turn.state !== 'running') return turn;
      if (leaving.signal.aborted) return { ...turn, leftAt: Date.now() };
      return { ...turn, state: 'lost', confirmation: null };
    });
    this.#show();
    this.#onStored();
  }

  /** Removes a failed turn before its question is asked again. */
  forget(session: string, requestId: string): void {
    this.#set(
      session,
      this.of(session).filter((turn) => turn.requestId !== requestId),
    );
  }

  /** Closes the streams. The turns go on. */
  leave(): void {
    for (const stream of this.#streams) stream.abort();
  }

  #set(session: string, turns: readonly Turn[]): void {
    this.#turns.set(session, turns);
    if (this.#isShowing) return;
    this.#isShowing = true;
    // Browsers draw no frames while the page is in the background.
    if (document.hidden) this.#show();
    else requestAnimationFrame(this.#show);
  }

  readonly #show = (): void => {
    this.#isShowing = false;
    for (const listener of this.#listeners) listener();
  };
}
