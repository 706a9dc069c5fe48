/** A run may be late by this part of the interval: 24 hours become 26. */
const GRACE_PART = 12;

/** The same for descriptions. */
export const GRACE_IN_WORDS = 'a twelfth';

/** A run may be late by at least this much, in minutes. */
export const MIN_GRACE_MINUTES = 15;

/** SQL for an interval and the grace after it. */
export const withGrace = (intervalMs: string) =>
  `${intervalMs} * ${GRACE_PART + 1}.0 / ${GRACE_PART}`;

/** SQL for how late a run may be, in milliseconds, if its interval is declared. */
export const graceMs = (intervalMs: string) =>
  `greatest(${intervalMs} / ${GRACE_PART}, ${MIN_GRACE_MINUTES * 60_000})`;

/**
 * The same for the interval that is learnt from runs, which need not be even: with a short grace it would often be
 * exceeded for no reason.
 */
export const learntGraceMs = (intervalMs: string) => `(${intervalMs} / 2)`;
