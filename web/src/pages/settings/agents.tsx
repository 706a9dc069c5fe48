import { Accordion, Alert, Button, Code, Group, List, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { installation } from '../../api/installation.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Loaded } from '../../parts/loading.tsx';
import { Section } from './section.tsx';
import { type Snippet, snippetsFor, TOKEN } from './snippets.ts';

/** What to paste into an AI agent to connect it to this installation. */
export function Agents() {
  const query = useQuery(installation);
  return (
    <Section
      title="Connect an agent"
      about="Over the Model Context Protocol (MCP), an AI agent can ask about backups and archives. Secrets are removed from every answer. Set your client to ask you before it requests a run, records a fix or mails a report."
    >
      <Loaded query={query}>
        {({ mcp, features }) => (
          <Stack>
            {!features.mcp.enabled && (
              <Alert color="orange" title="The MCP server is off">
                {features.mcp.reason}. Set it in the server’s environment, and restart the server.
              </Alert>
            )}
            {!window.isSecureContext && (
              <Alert color="orange" title="This address is not encrypted">
                Over plain HTTP, anyone in between can read the token and the answers. Put the
                server behind HTTPS before you connect from another machine.
              </Alert>
            )}
            <TokenHelp />
            <Snippets snippets={snippetsFor(`${window.location.origin}${mcp.path}`)} />
          </Stack>
        )}
      </Loaded>
    </Section>
  );
}

function TokenHelp() {
  return (
    <>
      <Text size="sm">
        Replace <Code>{TOKEN}</Code> with the server’s token, which this page does not know:
      </Text>
      <List size="sm">
        <List.Item>
          After <Code>npm start</Code>, it is <Code>MCP_AUTH_TOKEN</Code> in{' '}
          <Code>DATA_DIR/local.env</Code>.
        </List.Item>
        <List.Item>
          In a deployment, it is the variable <Code>MCP_AUTH_TOKEN</Code> that you set there.
        </List.Item>
      </List>
    </>
  );
}

function Snippets({ snippets }: { snippets: readonly Snippet[] }) {
  return (
    <Accordion variant="separated" defaultValue={idOf(snippets[0]?.client ?? '')} order={3}>
      {snippets.map(({ client, where, code }) => (
        <Accordion.Item key={client} value={idOf(client)}>
          <Accordion.Control>{client}</Accordion.Control>
          <Accordion.Panel>
            <Stack gap="xs">
              <Group justify="space-between" wrap="nowrap" align="flex-start">
                <Text size="sm">{where}</Text>
                <CopyButton value={code}>
                  {({ copied, copy }) => (
                    <Button
                      size="xs"
                      variant="default"
                      onClick={copy}
                      style={{ flexShrink: 0 }}
                      aria-label={copied ? 'Copied' : `Copy for ${client}`}
                    >
                      {copied ? 'Copied' : 'Copy'}
                    </Button>
                  )}
                </CopyButton>
              </Group>
              <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
                {code}
              </Code>
            </Stack>
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}

/** The name of a client without spaces, because it becomes part of element ids. */
function idOf(client: string): string {
  return client.replaceAll(' ', '-');
}
