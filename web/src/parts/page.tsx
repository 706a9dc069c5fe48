import { Group, Stack, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';

interface PageProps {
  title: string;
  /** Shown beside the title. */
  aside?: ReactNode;
  children: ReactNode;
}

export function Page({ title, aside, children }: PageProps) {
  useDocumentTitle(`${title} · Backup Observatory`);
  return (
    <Stack gap="lg">
      <Group justify="space-between" mih={36}>
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Stack>
  );
}
