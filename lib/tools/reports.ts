import * as z from 'zod';
import { AppError } from '../errors.ts';
import { callInternalService, ServiceResponseError } from '../http/internal-service.ts';
import { parseJson } from '../json.ts';
import { cleanText } from '../text/clean-text.ts';

const MAX_MESSAGE_CHARS = 300;

/** The arguments of send_backup_report. */
export interface ReportToSend {
  subject: string;
  content_markdown: string;
}

/** The answer of the observatory. */
export interface SentReport {
  /** A 2xx status. */
  status: number;
  message: string;
}

/** Sends reports to the observatory, which mails them. */
export interface ReportSender {
  /**
   * Resolves only for a 2xx answer. Throws AppError with the status and message of any other answer, for a
   * connection failure, and if the address of the observatory is not known.
   */
  send(report: ReportToSend, signal: AbortSignal): Promise<SentReport>;
}

export interface ReportSenderOptions {
  /** Returns the address of the observatory. Throws an AppError that says what to do if there is none. */
  findUrl(): Promise<string>;
  secret: string | undefined;
  fetch: typeof fetch;
}

const answer = z.object({ message: z.string() });

/** Sends reports to `POST {observatory}/reports/send` with the internal secret. */
export function createReportSender({ findUrl, secret, fetch }: ReportSenderOptions): ReportSender {
  return {
    async send({ subject, content_markdown }, signal) {
      const { status, text } = await callInternalService(
        { name: 'the observatory', url: await findUrl(), secret, fetch },
        { path: '/reports/send', body: { subject, content_markdown }, signal },
      ).catch(explainRefusal);
      return { status, message: readMessage(text) };
    },
  };
}

/** The observatory requires a user's login unless its operator allows reports from this server. */
function explainRefusal(error: unknown): never {
  if (!(error instanceof ServiceResponseError) || ![401, 403].includes(error.status)) throw error;
  const help =
    'set REPORTS_ACCEPT_INTERNAL=true where the observatory runs, and the same INTERNAL_SECRET there and here';
  throw new AppError('SERVICE_UNAVAILABLE', `${error.message}; to let this tool mail, ${help}`);
}

/** A 2xx answer is a success whatever its body contains. */
function readMessage(text: string): string {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return 'the observatory accepted the report';
  return cleanText(parsed.data.message, MAX_MESSAGE_CHARS);
}
