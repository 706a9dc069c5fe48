import { Box, Text } from '@mantine/core';
import { Command } from './command.tsx';
import { Empty } from './empty.tsx';

/** Shown while nothing is backed up yet: how to make the first backup. */
export function NoBackups() {
  return (
    <Empty title="No backups yet">
      To back up a repository, run this in another terminal, in the Backup Observatory folder:
      <Box mt="sm" ta="left">
        <Command>npm run worker -- run --source https://github.com/you/project.git</Command>
      </Box>
      <Text mt="sm">
        The path of a repository on this machine works too. The run appears here once it starts.
      </Text>
    </Empty>
  );
}
