import * as z from 'zod';
import { AppError } from '../errors.ts';
import { callInternalService, ServiceResponseError } from '../http/internal-service.ts';
import { parseJson } from '../json.ts';
import { cleanText } from '../text/clean-text.ts';

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
   * connection failure and for an observatory without an address.
   */
  send(report: Report, signal: AbortSignal): Promise<SentReport>;
}

export interface ReportSenderOptions {
  /** The address of the observatory now. Throws AppError, saying what to do, when there is none. */
  findUrl(): Promise<string>;
  secret: string | undefined;
  fetch: typeof fetch;
}

const answer = z.object({ message: z.string() });

/** Sends reports by `POST {observatory}/reports/send` with the internal secret. */
export function createReportSender({ findUrl, secret, fetch }: ReportSenderOptions): ReportSender {
  return {
    async send({ subject, content_markdown }, signal) {
      const { status, text } = await callInternalService(
        { name: 'the observatory', url: await findUrl(), secret, fetch },
        { path: '/reports/send', body: { subject, content_markdown }, signal },
      ).catch(explainRefusal);
      return { status, message: messageOf(text) };
    },
  };
}

/** The observatory asks for a user's login unless its operator lets this server in. */
function explainRefusal(error: unknown): never {
  if (!(error instanceof ServiceResponseError) || ![401, 403].includes(error.status)) throw error;
  const help =
    'set REPORTS_ACCEPT_INTERNAL=true where the observatory runs, and the same INTERNAL_SECRET there and here';
  throw new AppError('SERVICE_UNAVAILABLE', `${error.message}; to let this tool mail, ${help}`);
}

/** A 2xx answer is a success whatever its body says. */
function messageOf(text: string): string {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return 'the observatory took the report';
  return cleanText(parsed.data.message, MAX_MESSAGE);
}
