import { AppError } from '../../platform/errors.ts';

/**
 * The addresses to mail to, as the operator wrote them in SMTP_TO and each once. Throws
 * RECIPIENT_NOT_ALLOWED when one is not there; upper and lower case are the same. (spec 2, rule 7)
 */
export function allowRecipients(
  recipients: readonly string[],
  allowlist: readonly string[],
): string[] {
  const allowed = new Map(allowlist.map((address) => [address.toLowerCase(), address]));
  const found = recipients.map((recipient) => {
    const address = allowed.get(recipient.trim().toLowerCase());
    // The addresses that are allowed are not told.
    if (address === undefined) {
      throw new AppError('RECIPIENT_NOT_ALLOWED', 'a recipient is not in the allowlist SMTP_TO');
    }
    return address;
  });
  return [...new Set(found)];
}
