/**
 * SQL for whether Postgres knows a time zone by name. It would take any other text as an offset, with the opposite sign
 * of what people mean.
 */
export const isKnownTimeZone = (name: string) =>
  `EXISTS (SELECT FROM pg_timezone_names AS zone WHERE lower(zone.name) = lower(${name}))`;
