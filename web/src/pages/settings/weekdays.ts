/** The days of the week, from Monday on. */
export const weekdayNames = [
  ...(['Monday', 'Tuesday', 'Wednesday', 'Thursday'] as const),
  ...(['Friday', 'Saturday', 'Sunday'] as const),
] as const;

/** Days of the week by their numbers, from 1 for Monday, in words. */
export function describeDays(days: readonly number[]): string {
  const text = days.join('');
  if (text === '1234567') return 'Every day';
  if (text === '12345') return 'Monday to Friday';
  return days.map((day) => weekdayNames[day - 1]).join(', ');
}
