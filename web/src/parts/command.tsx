import { Button, Code, Group } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';

/** A command with a button to copy it. */
export function Command({ children: command }: { children: string }) {
  return (
    <Group wrap="nowrap" align="start">
      <Code block flex="1 1 auto" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        <bdi>{command}</bdi>
      </Code>
      <CopyButton value={command}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy} style={{ flexShrink: 0 }}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}

/** A text quoted for a shell, where necessary. */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
