import type { BadgeFacts } from '../../records/badges/badge-facts.ts';
import { PROOF_DAYS } from '../../records/drills/states.ts';
import { counted } from '../../text/units.ts';

/** A badge in the endpoint schema of shields.io. */
export interface Badge {
  schemaVersion: 1;
  label: string;
  message: string;
  color: BadgeColor;
}

/** Color names of shields.io. Our shades are darker, so that white text is readable on them. */
export const badgeColors = {
  brightgreen: '#2e7d0f',
  green: '#5f7303',
  orange: '#b45309',
  red: '#c53030',
  lightgrey: '#6b6b6b',
} as const;
export type BadgeColor = keyof typeof badgeColors;

const DAY_S = 86_400;

const words = {
  good: 'good',
  stale: 'stale',
  failing: 'failing',
  lost: 'lost at its source',
  never: 'never backed up',
  gone: 'archive gone',
} as const;

/** Shows the state, the age of the last proof and the number of open incidents, and nothing else: badges are public. */
export function describeBadge(facts: BadgeFacts): Badge {
  const { state, incidents } = facts;
  const about = { schemaVersion: 1, label: 'backup' } as const;
  if (state === null) return { ...about, message: 'unknown', color: 'lightgrey' };
  const parts = [words[state], describeProof(facts)];
  if (incidents > 0) parts.push(counted(incidents, 'incident'));
  return { ...about, message: parts.join(', '), color: colorOf(facts) };
}

function describeProof({ isDamaged, proven, unproven, proofAgeSeconds }: BadgeFacts): string {
  if (isDamaged) return 'restore failed';
  if (proven === 0 || proofAgeSeconds === null) return 'not proven';
  if (unproven > 0) return 'not all proven';
  const days = Math.floor(proofAgeSeconds / DAY_S);
  return days === 0 ? 'proven today' : `proven ${counted(days, 'day')} ago`;
}

function colorOf({
  state,
  isDamaged,
  unproven,
  proofAgeSeconds,
  incidents,
}: BadgeFacts): BadgeColor {
  if (isDamaged) return 'red';
  if (state !== 'good' && state !== 'stale') return 'red';
  if (state === 'stale' || incidents > 0) return 'orange';
  const isRecent = proofAgeSeconds !== null && proofAgeSeconds <= PROOF_DAYS * DAY_S;
  return isRecent && unproven === 0 ? 'brightgreen' : 'green';
}
