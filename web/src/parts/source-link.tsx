import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';

/** What a search result says about the record it found. */
export type Source = Pick<Schemas['SearchResult'], 'source_type' | 'source_id' | 'metadata'>;

const PlaceLink = createLink((props: AnchorProps) => (
  <Anchor inherit style={{ overflowWrap: 'anywhere' }} {...props} />
));

interface SourceLinkProps {
  of: Source;
  children: ReactNode;
}

/**
 * Links a found record to its place: a log line to itself among the lines around it, results to their run, answers to
 * their conversation. Plain text if there is no such page.
 */
export function SourceLink({
  of: { source_type, source_id, metadata },
  children,
}: SourceLinkProps) {
  const { run_id, session_id } = metadata;
  if (source_type === 'execution_log') {
    const run = typeof run_id === 'number' ? { run: run_id } : {};
    return (
      <PlaceLink to="/logs" search={{ ...run, line: Number(source_id) }}>
        {children}
      </PlaceLink>
    );
  }
  if (typeof run_id === 'number') {
    return (
      <PlaceLink to="/runs/$id" params={{ id: String(run_id) }}>
        {children}
      </PlaceLink>
    );
  }
  if (typeof session_id === 'string') {
    return (
      <PlaceLink to="/chat/$session" params={{ session: session_id }}>
        {children}
      </PlaceLink>
    );
  }
  return children;
}
