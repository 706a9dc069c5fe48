import { Button, Code, CopyButton, Group } from '@mantine/core';

/** A command to copy. */
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

/** As a shell needs it. */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
