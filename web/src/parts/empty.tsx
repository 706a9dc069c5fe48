import { Box, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Command } from './command.tsx';

/** What stands where there is nothing yet: what to do next. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" ta="center">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="dimmed" w="100%" maw={560} component="div">
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
      <Box mt="sm" ta="left">
        <Command>npm run worker -- run --source https://github.com/you/project.git</Command>
      </Box>
      <Text mt="sm">
        A path of a repository on this machine will do too. It shows up here while it runs.
      </Text>
    </Empty>
  );
}
