import { type AnomalyKind, MAX_CHANGES, type NewAnomaly } from './kinds.ts';
import { ledgerName } from './ref-names.ts';

/**
 * Builds an anomaly from changes: a name, the value before, and the value after, which is null for what was removed.
 */
export function newAnomaly(
  kind: AnomalyKind,
  changes: readonly (readonly [name: string, before: string, after: string | null])[],
): NewAnomaly {
  const named = changes.slice(0, MAX_CHANGES).map(([name, ...values]) => {
    return [ledgerName(name), ...values] as const;
  });
  return {
    kind,
    changeCount: changes.length,
    before: Object.fromEntries(named.map(([name, before]) => [name, before])),
    after: Object.fromEntries(
      named.flatMap(([name, , after]) => (after === null ? [] : [[name, after]])),
    ),
  };
}
