/** The reports that are made from live data. */
export const reportTypes = ['latest_backup', 'executive_summary', 'failure_investigation'] as const;

export type ReportType = (typeof reportTypes)[number];

/** Is this the name of a report that can be made? */
export function isReportType(name: string): name is ReportType {
  return (reportTypes as readonly string[]).includes(name);
}
