/** A time for people, from ISO 8601 in UTC: `2026-01-31 08:15 UTC`. */
export function formatMinute(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}
