/**
 * A signal that aborts with another until it is let go. For work that is shorter than the other signal's
 * life: what the work hangs on its signal is then not kept for as long.
 */
export function linkSignal(to: AbortSignal): { signal: AbortSignal; release(): void } {
  const own = new AbortController();
  const follow = () => own.abort(to.reason);
  if (to.aborted) follow();
  else to.addEventListener('abort', follow);
  return { signal: own.signal, release: () => to.removeEventListener('abort', follow) };
}
