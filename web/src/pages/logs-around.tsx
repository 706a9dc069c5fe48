import { Anchor, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { logsAround } from '../api/queries.ts';
import { Empty } from '../parts/empty.tsx';
import { Loaded } from '../parts/loading.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Page } from '../parts/page.tsx';

/** One line of the log, marked among the lines around it. */
export function LogsAround({ line, run }: { line: number; run?: number }) {
  return (
    <Page
      title="Logs"
      aside={
        <Group gap="md">
          {run !== undefined && (
            <Anchor component={Link} to={`/runs/${run}`} size="sm">
              See run #{run}
            </Anchor>
          )}
          <Anchor component={Link} to="/logs" size="sm">
            See the newest lines
          </Anchor>
        </Group>
      }
    >
      <Loaded query={useQuery(logsAround(line))} lines={8}>
        {(data) =>
          data !== null ? (
            <>
              <Text size="sm" c="dimmed">
                The marked line{run === undefined ? '' : ` of run #${run}`}, and what was logged
                before and after it.
              </Text>
              <LogLines logs={data.toReversed()} marked={line} />
            </>
          ) : (
            <Empty title="This line is no longer there">It was deleted since it was found.</Empty>
          )
        }
      </Loaded>
    </Page>
  );
}
