const MAX_JOINED = 5;

/** Joins the first texts, and says how many more there are. */
export function joinFirst(texts: readonly string[]): string {
  const more = texts.length - MAX_JOINED;
  return [...texts.slice(0, MAX_JOINED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
