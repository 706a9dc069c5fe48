import { Box, Text } from '@mantine/core';
import { Command } from './command.tsx';
import { Empty } from './empty.tsx';

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
