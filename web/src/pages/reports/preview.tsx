import { Paper, Text } from '@mantine/core';

/** Styles a report as in a mail. The policy blocks all loading, and the sandbox stops links from opening a window. */
const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Report</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<base target="_blank"><style>
body { font-family: system-ui, sans-serif; line-height: 1.5; color: #1f2328; background: #fff;
  max-width: 60em; margin: 1em; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #d1d9e0; padding: 0.25em 0.6em; overflow-wrap: normal; }
pre { overflow-x: auto; } svg { max-width: 100%; height: auto; }
</style></head><body>`;

/** The HTML of a report, in a frame that runs no scripts and has no access to the page. */
export function Preview({ html }: { html: string }) {
  return (
    <>
      <Paper withBorder radius="md" style={{ overflow: 'hidden' }}>
        <iframe
          title="Preview of the report"
          sandbox=""
          srcDoc={`${head}${html}</body></html>`}
          style={{
            display: 'block',
            width: '100%',
            height: '70vh',
            minHeight: 320,
            border: 0,
            background: '#fff',
            colorScheme: 'light',
          }}
        />
      </Paper>
      <Text size="xs" c="dimmed">
        This preview loads nothing, and its links do not open.
      </Text>
    </>
  );
}
