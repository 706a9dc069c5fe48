import {
  Accordion,
  Alert,
  Button,
  Code,
  CopyButton,
  Group,
  List,
  Stack,
  Text,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { installation } from '../../api/installation.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Section } from './section.tsx';
import { type Snippet, snippetsFor, TOKEN } from './snippets.ts';

/** What to paste into an AI agent, so that it reaches this installation. */
export function Agents() {
  const query = useQuery(installation);
  return (
    <Section
      title="Connect an agent"
      about="Over the Model Context Protocol (MCP) an AI agent can ask about backups and archives. Secrets are removed from every answer. Set your client to ask you before it requests a run, records a fix or mails a report."
    >
      <Loaded query={query}>
        {({ mcp, features }) => (
          <Stack>
            {!features.mcp.enabled && (
              <Alert color="orange" title="The MCP server is off">
                {features.mcp.reason}. Set it where the server gets its variables, and restart it.
              </Alert>
            )}
            {!window.isSecureContext && (
              <Alert color="orange" title="This address is not encrypted">
                Over plain http anybody in between can read the token and the answers. Put the
                server behind https before you connect from another machine.
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
        Replace <Code>{TOKEN}</Code> by the token of the server, which this page does not know:
      </Text>
      <List size="sm">
        <List.Item>
          after <Code>npm start</Code>, it is <Code>MCP_AUTH_TOKEN</Code> in{' '}
          <Code>.data/local.env</Code>
        </List.Item>
        <List.Item>
          in a deployment, the variable <Code>MCP_AUTH_TOKEN</Code> that you set there.
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

/** It becomes part of the ids of elements, which have no spaces. */
function idOf(client: string): string {
  return client.replaceAll(' ', '-');
}
