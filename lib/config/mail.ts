import * as z from 'zod';
import { flag, list, secureUrl } from './values.ts';

const sender = /^(?:[^<>\p{Cc}]*<([^<>\s]+)>|([^<>\s]+))$/u;

/** Mail through Resend, and who may receive reports. */
export const mailVariables = z.object({
  RESEND_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{1,512}$/, 'must be a key without spaces')
    .optional()
    .describe('API key of the mail service; without it no mail is sent'),
  RESEND_BASE_URL: secureUrl
    .default('https://api.resend.com')
    .transform((address) => address.replace(/\/+$/, ''))
    .describe('URL of the mail service: Resend, or one with a compatible API'),
  SMTP_FROM: z
    .string()
    .trim()
    .refine(
      isSender,
      'must be a mail address, or a name and a mail address: Backups <backups@example.com>',
    )
    .optional()
    .describe('the sender: `backups@example.com` or `Backups <backups@example.com>`'),
  SMTP_TO: list
    .pipe(
      z.array(z.email('must be a list of mail addresses')).max(50, 'must be a list of at most 50'),
    )
    .default([])
    .describe('comma-separated list of the only addresses to which reports may be sent'),
  REPORTS_ACCEPT_INTERNAL: flag(false).describe(
    'true: the MCP server may mail reports to SMTP_TO with the internal secret',
  ),
});

export type MailConfig = z.output<typeof mailVariables>;

function isSender(text: string): boolean {
  const [, inBrackets, bare] = sender.exec(text) ?? [];
  return z.email().safeParse(inBrackets ?? bare).success;
}
