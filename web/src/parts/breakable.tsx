import { Fragment } from 'react';

/** Longer texts are not names: they break anywhere. */
const MAX_PARTS = 40;

/** A name or a path that breaks behind its separators rather than within a word, where there is not enough room. */
export function Breakable({ text }: { text: string }) {
  const parts = text.split(/(?<=[/_.:@-])/, MAX_PARTS + 1);
  if (parts.length > MAX_PARTS) return text;
  return parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other identity.
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
