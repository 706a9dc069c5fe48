import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';

/** Maximum characters of addresses in a message. */
const MAX_NAMED_CHARACTERS = 1_500;

/**
 * Returns the addresses to mail to, without duplicates and as written in SMTP_TO. Ignores letter case. Throws
 * RECIPIENT_NOT_ALLOWED, naming the allowed addresses, if one is not in SMTP_TO.
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
        ? 'SMTP_TO is not set, so nobody may'
        : `SMTP_TO allows ${nameAddresses([...allowed.values()])}`;
    throw new AppError(
      'RECIPIENT_NOT_ALLOWED',
      `${nameAddresses(refused)} may not receive reports: ${choice}`,
    );
  }
  return [...found];
}

/** Lists as many addresses as fit. */
export function nameAddresses(addresses: readonly string[]): string {
  let length = 0;
  const named = addresses.filter((address) => {
    length += address.length + 2;
    return length <= MAX_NAMED_CHARACTERS;
  });
  const left = addresses.length - named.length;
  return named.join(', ') + (left > 0 ? ` and ${left} more` : '');
}
