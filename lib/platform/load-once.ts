/**
 * Makes something when it is asked for first, and gives the same to all who ask. What failed is made again by
 * the next who asks: a process that ran out of files for a moment is not without it for ever.
 */
export function loadOnce<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => {
    if (made !== null) return made;
    const making = make();
    making.catch(() => {
      made = null;
    });
    made = making;
    return making;
  };
}
