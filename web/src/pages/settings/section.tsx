import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionProps {
  title: string;
  about: ReactNode;
  children: ReactNode;
}

/** A section of the settings, with a heading and an explanation. */
export function Section({ title, about, children }: SectionProps) {
  return (
    <Stack gap="sm" maw={860} mb="xl">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text size="sm" c="dimmed" component="div">
        {about}
      </Text>
      {children}
    </Stack>
  );
}
