/** Reasons of the server that only an operator understands, each with what to show instead. */
const reasons: readonly (readonly [string, string])[] = [
  [
    'no embedding generation is active',
    'Only words were compared. Once vectors are built, similar spellings and meanings are found too: see Search in the settings.',
  ],
  [
    'the database has no vector extension',
    'Only words were compared: the database cannot store vectors, which find similar spellings and meanings.',
  ],
];

/** Explains in plain words what a search left out. */
export function explainDegraded(reason: string): string {
  const plain = reasons.find(([known]) => reason.startsWith(known));
  if (!plain) return sentence(reason);
  const rest = reason.slice(plain[0].length).replace(/^; /, '');
  return rest === '' ? plain[1] : `${plain[1]} ${sentence(rest)}`;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
