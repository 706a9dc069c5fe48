/** A function that makes its value when it is first called, and gives the same from then on. */
export function memoize<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
