import { Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface FigureProps {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  /** Whether the figure is a reason to worry. */
  bad?: boolean;
}

/** A figure with its label. */
export function Figure({ label, value, note, bad = false }: FigureProps) {
  return (
    <Paper withBorder p="md" radius="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fz="xl" fw={700} c={bad ? 'var(--mantine-color-error)' : undefined}>
        {value}
      </Text>
      {note !== undefined && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  );
}
