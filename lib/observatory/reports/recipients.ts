import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';

/** Most characters of addresses that a text names. */
const MAX_NAMED_CHARACTERS = 1_500;

/**
 * The addresses to mail to, as the operator wrote them in SMTP_TO and each once. Throws
 * RECIPIENT_NOT_ALLOWED, with the addresses that are, when one is not there; upper and lower case are the
 * same.
 */
export function allowRecipients(
  recipients: readonly string[],
  allowlist: readonly string[],
): string[] {
  const allowed = new Map(allowlist.map((address) => [address.toLowerCase(), address]));
  const found = new Set<string>();
  const refused: string[] = [];
  for (const recipient of recipients) {
    const address = allowed.get(recipient.trim().toLowerCase());
    if (address === undefined) refused.push(cleanText(recipient, 100));
    else found.add(address);
  }
  if (refused.length > 0) {
    const choice =
      allowed.size === 0
        ? 'nobody may while the operator has not set SMTP_TO'
        : `the allowlist SMTP_TO has ${nameAddresses([...allowed.values()])}`;
    throw new AppError(
      'RECIPIENT_NOT_ALLOWED',
      `${nameAddresses(refused)} may not get reports: ${choice}`,
    );
  }
  return [...found];
}

/** Addresses for a reader, as many as fit. */
export function nameAddresses(addresses: readonly string[]): string {
  let length = 0;
  const named = addresses.filter((address) => {
    length += address.length + 2;
    return length <= MAX_NAMED_CHARACTERS;
  });
  const left = addresses.length - named.length;
  return named.join(', ') + (left > 0 ? ` and ${left} more` : '');
}
