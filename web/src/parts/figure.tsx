import { Anchor, type AnchorProps, Paper, Text } from '@mantine/core';
import { createLink, type LinkComponentProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';

const FigureLink = createLink((props: AnchorProps) => <Anchor inherit {...props} />);

/** Where a figure leads: a page, with its filters. */
export type Place = Pick<LinkComponentProps<'a'>, 'to' | 'search' | 'params'>;

interface FigureProps {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  /** Whether the figure is a reason to worry. */
  bad?: boolean;
  /** The list behind the figure. */
  place?: Place;
}

/** A part of a figure's note that leads to the list behind it. */
export function NoteLink({ place, children }: { place: Place; children: ReactNode }) {
  return <FigureLink {...place}>{children}</FigureLink>;
}

/** A figure with its label. */
export function Figure({ label, value, note, bad = false, place }: FigureProps) {
  const color = bad ? 'var(--mantine-color-error)' : undefined;
  return (
    <Paper withBorder p="md" radius="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fz="xl" fw={700} c={color}>
        {place === undefined ? (
          value
        ) : (
          <FigureLink c={color ?? 'inherit'} underline="hover" {...place}>
            {value}
          </FigureLink>
        )}
      </Text>
      {note !== undefined && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  );
}
