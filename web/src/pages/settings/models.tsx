import { Anchor, Button, Code, Group, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { installation } from '../../api/installation.ts';
import { rerankingModels } from '../../api/settings.ts';
import { formatCount } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Gateway } from './gateway.tsx';
import { Section } from './section.tsx';

/** The model gateway, and which models are used for what. */
export function Models() {
  const query = useQuery(installation);
  return (
    <Loaded query={query}>
      {(installation) => (
        <>
          <Section
            title="Model gateway"
            about="The chat and the gateway’s models need a key. Yours is encrypted, used for your requests only, and never shown again."
          >
            <Gateway installation={installation} />
          </Section>
          <Section
            title="Models in use"
            about="The chat’s model is set by GATEWAY_MODEL; a question may name another one."
          >
            <Table.ScrollContainer minWidth={300}>
              <Table variant="vertical" layout="fixed" withTableBorder>
                <Table.Tbody>
                  <Table.Tr>
                    <Table.Th w={120}>Chat</Table.Th>
                    <Table.Td>
                      <Model
                        id={installation.models.chat}
                        none="not set: each question must name one"
                      />
                    </Table.Td>
                  </Table.Tr>
                  <Table.Tr>
                    <Table.Th>Search</Table.Th>
                    <Table.Td>
                      <Model id={installation.models.embedding} none="none: word search only" />{' '}
                      <Anchor
                        size="sm"
                        underline="always"
                        renderRoot={(props) => (
                          <Link to="/settings" search={{ tab: 'search' }} {...props} />
                        )}
                      >
                        Change
                      </Anchor>
                    </Table.Td>
                  </Table.Tr>
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          </Section>
          <Section
            title="Reranking models"
            about="The gateway’s free models. A search may name one to sort its best results."
          >
            <Reranking />
          </Section>
        </>
      )}
    </Loaded>
  );
}

function Model({ id, none }: { id: string | null; none: string }) {
  return id === null ? (
    <Text span size="sm" c="dimmed">
      {none}
    </Text>
  ) : (
    <Code style={{ overflowWrap: 'anywhere' }}>{id}</Code>
  );
}

function Reranking() {
  const query = useQuery(rerankingModels);
  // Not an error of this page: searches work without these models.
  if (query.isError && query.data === undefined) {
    return (
      <Group gap="xs">
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          Not available: {query.error.message}. Searches work without them.
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          loading={query.isFetching}
          onClick={() => void query.refetch()}
        >
          Retry
        </Button>
      </Group>
    );
  }
  return (
    <Loaded query={query} lines={2}>
      {({ models }) =>
        models.length === 0 ? (
          <Text size="sm">The gateway has none.</Text>
        ) : (
          <Table.ScrollContainer minWidth={300}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Model</Table.Th>
                  <Table.Th ta="right">Context, in tokens</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {models.map(({ id, name, context_length }) => (
                  <Table.Tr key={id}>
                    <Table.Td style={{ overflowWrap: 'anywhere' }}>
                      <bdi>{name}</bdi>
                      <Text size="xs" c="dimmed">
                        <bdi>{id}</bdi>
                      </Text>
                    </Table.Td>
                    <Table.Td ta="right">
                      {context_length === 0 ? '–' : formatCount(context_length)}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )
      }
    </Loaded>
  );
}
