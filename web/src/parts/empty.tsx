import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Shown in place of an empty list: what it means, and what to do next. */
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
