import { Code } from '@mantine/core';

/** A text whose commands, between backquotes, are shown as code. */
export function WithCommands({ text }: { text: string }) {
  // Every second part was between backquotes.
  const parts = text.split('`').map((part, index) => ({ part, index }));
  return parts.map(({ part, index }) => (index % 2 === 0 ? part : <Code key={index}>{part}</Code>));
}
