import { Badge, Group, Highlight, Paper, Stack, Text } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { Age } from '../../parts/age.tsx';
import { SourceLink } from '../../parts/source-link.tsx';
import { excerptOf } from './query-words.ts';

type Result = Schemas['SearchResult'];

const kinds: Record<Result['source_type'], string> = {
  execution_log: 'Log',
  backup_result: 'Result',
  investigation: 'Answer',
};

interface ResultsProps {
  results: readonly Result[];
  /** The words to highlight. */
  words: readonly string[];
}

/** The search results, best first. All of their text is untrusted. */
export function Results({ results, words }: ResultsProps) {
  return (
    <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Results">
      {results.map((result) => (
        <Paper
          component="li"
          withBorder
          p="md"
          radius="md"
          key={`${result.source_type} ${result.id}`}
        >
          <Group justify="space-between" gap="xs" mb={4}>
            <Group gap="xs">
              <SourceLink of={result}>
                <bdi>{titleOf(result)}</bdi>
              </SourceLink>
              {typeof result.metadata.level === 'string' && (
                <Badge variant="light" color="gray">
                  {result.metadata.level}
                </Badge>
              )}
            </Group>
            {typeof result.metadata.created_at === 'string' && (
              <Text span size="sm" c="dimmed">
                <Age of={result.metadata.created_at} />
              </Text>
            )}
          </Group>
          <bdi>
            <Highlight
              component="span"
              size="sm"
              highlight={[...words]}
              style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}
            >
              {excerptOf(result.content, words)}
            </Highlight>
          </bdi>
        </Paper>
      ))}
    </Stack>
  );
}

function titleOf({ source_type, source_id, metadata }: Result): string {
  const { repository, run_id } = metadata;
  const of = typeof repository === 'string' && repository !== '' ? ` of ${repository}` : '';
  const where = typeof run_id === 'number' ? ` in run #${run_id}` : '';
  return `${kinds[source_type]}${of === '' && where === '' ? ` ${source_id}` : ''}${of}${where}`;
}
