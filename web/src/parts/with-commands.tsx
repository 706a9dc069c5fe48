import { Code } from '@mantine/core';

/** A text whose commands stand between backquotes, with these set apart. */
export function WithCommands({ text }: { text: string }) {
  // Every second part stood between backquotes.
  const parts = text.split('`').map((part, index) => ({ part, index }));
  return parts.map(({ part, index }) => (index % 2 === 0 ? part : <Code key={index}>{part}</Code>));
}
