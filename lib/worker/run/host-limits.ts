/** What a visit to a host revealed about its load. */
export type Visit = 'good' | 'overloaded' | 'other';

/** How many repositories of each host are worked on at once. */
interface HostLimits {
  /** Whether another repository of the host may be started. Always true for null, which is no host. */
  hasRoom(host: string | null): boolean;
  /** The hosts without room. */
  full(): string[];
  /** Starts a visit; call the returned function once, when it ends. */
  enter(host: string | null): (visit: Visit) => void;
}

interface HostState {
  limit: number;
  active: number;
  /** Good visits since the limit changed. */
  good: number;
  /** Visits that began before this value of `visits` do not halve the limit again. */
  halvedAt: number;
}

/**
 * Limits that start at `max`. An overloaded host gets half as many visits at once, at least one; then one more each
 * time that as many visits as the limit were good. Visits that were under way together halve it only once.
 */
export function createHostLimits(max: number): HostLimits {
  const hosts = new Map<string, HostState>();
  let visits = 0;
  const stateOf = (host: string) => {
    const state = hosts.get(host) ?? { limit: max, active: 0, good: 0, halvedAt: 0 };
    hosts.set(host, state);
    return state;
  };
  return {
    hasRoom(host) {
      if (host === null) return true;
      const { active, limit } = stateOf(host);
      return active < limit;
    },
    full: () => [...hosts].flatMap(([host, { active, limit }]) => (active < limit ? [] : [host])),
    enter(host) {
      if (host === null) return () => undefined;
      const state = stateOf(host);
      const began = ++visits;
      state.active++;
      return (visit) => {
        state.active--;
        if (visit === 'overloaded' && began > state.halvedAt) {
          state.limit = Math.max(1, Math.floor(state.limit / 2));
          state.halvedAt = visits;
          state.good = 0;
        }
        if (visit !== 'good' || state.limit === max) return;
        state.good++;
        if (state.good < state.limit) return;
        state.limit++;
        state.good = 0;
      };
    },
  };
}
