import { Badge, Button, Group, Paper, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface CardProps {
  /** What it is about; untrusted. */
  title: string | null;
  /** Short words beside the title. */
  marks?: readonly string[];
  /** What is said of it below the title. */
  about: ReactNode;
  /** Buttons. */
  actions?: ReactNode;
  /** What follows over the whole width. */
  children?: ReactNode;
}

/** One of a list of things that can be changed or removed. */
export function Card({ title, marks = [], about, actions, children }: CardProps) {
  return (
    <Paper withBorder p="sm" radius="md" component="article" aria-label={title ?? undefined}>
      <Stack gap="xs">
        <Group justify="space-between">
          <div style={{ minWidth: 0, flex: '1 1 220px' }}>
            <Group gap="xs">
              {title !== null && (
                <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
                  <bdi>{title}</bdi>
                </Text>
              )}
              {marks.map((mark) => (
                <Badge key={mark} variant="default" tt="none">
                  {mark}
                </Badge>
              ))}
            </Group>
            <Text size="sm" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
              {about}
            </Text>
          </div>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}

interface CardActionProps {
  label: string;
  /** What it is called for those who do not see where it stands. Contains the label. */
  name: string;
  act(): void;
  isDestructive?: boolean;
  isPending?: boolean;
}

/** A button of a card. */
export function CardAction({
  label,
  name,
  act,
  isDestructive = false,
  isPending = false,
}: CardActionProps) {
  return (
    <Button
      size="xs"
      aria-label={name}
      onClick={act}
      loading={isPending}
      {...(isDestructive ? { variant: 'light', color: 'red' } : { variant: 'default' })}
    >
      {label}
    </Button>
  );
}
