import { Group, Stack, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';

interface PageProps {
  title: string;
  /** The title of the browser's tab, if it says more. */
  tabTitle?: string | undefined;
  /** Shown beside the title. */
  aside?: ReactNode;
  children: ReactNode;
}

export function Page({ title, tabTitle = title, aside, children }: PageProps) {
  useDocumentTitle(`${tabTitle} · Backup Observatory`);
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
