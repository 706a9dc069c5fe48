/**
 * Characters that make people and models see different texts: bidirectional controls and invisible tags.
 */
const deceiving = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/gu;

/** Removes bidirectional controls and invisible tags from a text. */
export function removeDeceptiveCharacters(text: string): string {
  return text.replace(deceiving, '');
}

/** Removes bidirectional controls and invisible tags from all strings and keys of a JSON value. */
export function removeDeceptiveCharactersFrom<Value>(value: Value): Value {
  if (typeof value === 'string') return removeDeceptiveCharacters(value) as Value;
  if (Array.isArray(value)) return value.map(removeDeceptiveCharactersFrom) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      removeDeceptiveCharacters(key),
      removeDeceptiveCharactersFrom(member),
    ]),
  ) as Value;
}
