import { z } from 'zod';
import { cleanText } from '../platform/clean-text.ts';
import { AppError } from '../platform/errors.ts';
import { callInternalService } from '../platform/http/internal-service.ts';
import { parseJson } from '../platform/json.ts';

const MAX_MESSAGE = 300;

/** A report as the tool takes it. */
export interface Report {
  subject: string;
  content_markdown: string;
}

/** The observatory's consent. */
export interface SentReport {
  /** A status of 2xx. */
  status: number;
  message: string;
}

/** Hands a report to the observatory, which mails it. */
export interface ReportSender {
  /**
   * Resolves on a 2xx answer alone. Throws AppError naming status and message for every other one, for a
   * connection failure and for an observatory without an address (spec 3, Tool behaviour 11).
   */
  send(report: Report, signal: AbortSignal): Promise<SentReport>;
}

export interface ReportSenderOptions {
  /** Address of the observatory; null when there is none. */
  url: string | null;
  secret: string | undefined;
  fetch: typeof fetch;
}

const answer = z.object({ message: z.string() });

/** Sends reports by `POST {observatory}/reports/send` with the internal secret. */
export function createReportSender({ url, secret, fetch }: ReportSenderOptions): ReportSender {
  return {
    async send({ subject, content_markdown }, signal) {
      if (url === null) {
        throw new AppError(
          'SERVICE_UNAVAILABLE',
          'the observatory has no address: OBSERVATORY_URL is set to nothing',
        );
      }
      const { status, text } = await callInternalService(
        { name: 'the observatory', url, secret, fetch },
        { path: '/reports/send', body: { subject, content_markdown }, signal },
      );
      return { status, message: messageOf(text) };
    },
  };
}

/** A 2xx answer is a success whatever its body says. */
function messageOf(text: string): string {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return 'the observatory took the report';
  return cleanText(parsed.data.message, MAX_MESSAGE);
}
