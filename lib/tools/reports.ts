/** Hands a report to the observatory, which mails it. */
export interface ReportSender {
  /**
   * Resolves on a 2xx answer alone. Throws AppError naming status and message for every other one, for a
   * connection failure and for an observatory without an address (spec 3, Tool behaviour 11).
   */
  send(
    report: { subject: string; content_markdown: string },
    signal: AbortSignal,
  ): Promise<{ status: number; message: string }>;
}
