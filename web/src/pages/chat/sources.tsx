import { Stack, Text } from '@mantine/core';
import { SourceLink } from '../../parts/source-link.tsx';
import type { Turn } from './turn.ts';

/** The records that a search found for the question before the model used any tools. */
export function Sources({ sources }: Pick<Turn, 'sources'>) {
  if (sources.length === 0) return null;
  return (
    <Stack component="section" gap={4} aria-label="Sources">
      <Text size="sm" fw={600}>
        Sources
      </Text>
      {sources.map((source) => (
        <Text
          key={`${source.source_type} ${source.source_id}`}
          component="div"
          size="sm"
          lineClamp={2}
          style={{ overflowWrap: 'anywhere' }}
        >
          <SourceLink of={source}>
            <bdi>{source.title}</bdi>
          </SourceLink>{' '}
          <Text span inherit c="dimmed">
            <bdi>{source.snippet.slice(0, 300)}</bdi>
          </Text>
        </Text>
      ))}
    </Stack>
  );
}
