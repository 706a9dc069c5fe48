const MASK = '[redacted]';

/**
 * Removes the user-info part of every URL and every bearer value from a text that comes from outside:
 * git's error output, driver errors, headers. Takes time in proportion to the text, also to a hostile
 * one. (spec 3, Authentication)
 */
export function redact(text: string): string {
  return text
    .replace(/:\/\/[^\s/'"]+@/g, `://${MASK}@`)
    .replace(/\b(bearer|basic)(\s+)[\w.~+/=-]{8,}/gi, `$1$2${MASK}`);
}
