import { Code, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** What stands where there is nothing yet: what to do next. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" ta="center">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="dimmed" maw={520} component="div">
        {children}
      </Text>
    </Stack>
  );
}

/** The first thing that a new installation needs. */
export function NoBackups() {
  return (
    <Empty title="No backups yet">
      Back up a repository from another terminal, in the folder of Backup Observatory:
      <Code block mt="sm" ta="left">
        npm run worker -- run --source https://github.com/you/project.git
      </Code>
      <Text mt="sm">It shows up here while it runs.</Text>
    </Empty>
  );
}
